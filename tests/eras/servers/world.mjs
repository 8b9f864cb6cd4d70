// What one server process remembers across its sessions and requests: an instance of the SDK's server lives for one
// session, or in the modern era over HTTP for one request only.
import { readFileSync } from 'node:fs';

export class World {
  /** What this "build" of the server is called: what the file said when the process started. */
  build = process.env.ERAS_BUILD ? readFileSync(process.env.ERAS_BUILD, 'utf8').trim() : 'unnamed';
  /** Whether there is one more tool; a build whose name ends in + starts with it. */
  added = this.build.endsWith('+');
  /** Reaches subscribers that no instance knows of; set by a server whose instances live for one request. */
  notify;
  #sessions = new Set();
  #cancelled = Promise.withResolvers();

  /** An instance that outlives a request: until `server` closes, changes are announced through it. */
  session(server, instance) {
    this.#sessions.add(instance);
    server.onclose = () => this.#sessions.delete(instance);
  }

  add_tool() {
    this.added = true;
    for (const { show_added } of this.#sessions) show_added();
    this.notify?.toolsChanged();
  }
  touch(uri) {
    for (const { updated } of this.#sessions) updated(uri);
    this.notify?.resourceUpdated(uri);
  }

  was_cancelled() {
    this.#cancelled.resolve(true);
  }
  /** Whether a call was cancelled, or is within this time. */
  async cancelled(milliseconds) {
    const timer = setTimeout(() => this.#cancelled.resolve(false), milliseconds);
    const answer = await this.#cancelled.promise;
    clearTimeout(timer);
    return answer;
  }
}
