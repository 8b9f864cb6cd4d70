// The reader's side of server-tap.cjs.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export class Tap {
  constructor(folder) {
    this.folder = folder;
  }

  /** The lines that the server has read so far. */
  received() {
    return this.#lines('received');
  }

  /** The lines that the server has written so far. */
  sent() {
    return this.#lines('sent');
  }

  #lines(name) {
    const path = join(this.folder, name);
    return existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
  }
}
