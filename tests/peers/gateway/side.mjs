// One server as a client sees it, asked directly or through a gateway, in the same way: the prefixes that the
// gateway uses are added and removed here, and nowhere else.
import { comparable_result, notices_in } from '../lib/allowed.mjs';
import { attempt } from '../lib/peer.mjs';
import { normaliser } from '../lib/same.mjs';

export class Side {
  #begin = 0;
  #sent = 0;
  /** What the gateway told the model on the way. */
  notices = [];

  /** `name` is what the gateway calls the server; undefined if there is no gateway between. */
  constructor(peer, name) {
    this.peer = peer;
    this.name = name;
    this.prefix = name ? `${name}__` : '';
  }

  // --- asking --------------------------------------------------------------------------------------------

  async call(tool, args, options) {
    const result = await this.peer.call(this.prefix + tool, args, options);
    this.notices.push(...notices_in(result));
    return comparable_result(result);
  }
  /** The same by way of the gateway's own tool, which also reaches inactive servers. */
  async call_by_way(tool, args) {
    if (!this.name) return this.call(tool, args);
    const result = await this.peer.call('pivot_call', { tool: this.prefix + tool, arguments: args });
    this.notices.push(...notices_in(result));
    return comparable_result(result);
  }
  request(method, params, schema) {
    return attempt(() => this.peer.client.request({ method, params }, schema));
  }
  prompt(name, args) {
    return attempt(() => this.peer.client.getPrompt({ name: this.prefix + name, arguments: args }));
  }
  complete(ref, name, value, chosen) {
    const asked = ref.name ? { ...ref, name: this.prefix + ref.name } : ref;
    const context = chosen && { context: { arguments: chosen } };
    return attempt(() => this.peer.client.complete({ ref: asked, argument: { name, value }, ...context }));
  }
  read(uri) {
    return attempt(() => this.peer.client.readResource({ uri }));
  }
  subscribe(uri) {
    return attempt(() => this.peer.client.subscribeResource({ uri }));
  }
  unsubscribe(uri) {
    return attempt(() => this.peer.client.unsubscribeResource({ uri }));
  }

  // --- lists: of all that the gateway lists, what is this server's ---------------------------------------

  #mine(items) {
    return items
      .filter(({ name }) => name.startsWith(this.prefix))
      .map((item) => ({ ...item, name: item.name.slice(this.prefix.length) }));
  }
  async tools() {
    const { tools } = await this.peer.client.listTools();
    return this.#mine(tools).filter(({ name }) => !name.startsWith('pivot_'));
  }
  async prompts() {
    return this.#mine((await this.peer.client.listPrompts()).prompts);
  }
  async resources(scheme) {
    const { resources } = await this.peer.client.listResources();
    return resources.filter(({ uri }) => uri.startsWith(scheme));
  }
  async templates(scheme) {
    const { resourceTemplates } = await this.peer.client.listResourceTemplates();
    return resourceTemplates.filter(({ uriTemplate }) => uriTemplate.startsWith(scheme));
  }

  // --- what arrived since the scenario began -------------------------------------------------------------

  begin() {
    this.#begin = this.peer.received.items.length;
    this.#sent = this.peer.sent.items.length;
  }

  /** Log messages carry the name of the server before their logger; undefined if it is another's. */
  #own(message) {
    if (!this.name || message.method !== 'notifications/message') return message;
    const { logger, ...params } = message.params;
    if (logger === this.name) return { ...message, params };
    if (!logger?.startsWith(`${this.name}/`)) return undefined;
    return { ...message, params: { ...params, logger: logger.slice(this.name.length + 1) } };
  }
  #matcher(match) {
    const fits = typeof match === 'string' ? ({ method }) => method === match : match;
    return (message) => {
      const own = this.#own(message);
      return own !== undefined && fits(own);
    };
  }
  seen(match) {
    return this.peer.received.items
      .slice(this.#begin)
      .filter(this.#matcher(match))
      .map((message) => this.#own(message));
  }
  until(match, count = 1) {
    const fits = this.#matcher(match);
    const before = this.peer.received.items.slice(0, this.#begin).filter(fits).length;
    return this.peer.received.until(fits, before + count);
  }
  /** The progress reports on the last call that was sent with these arguments. */
  progress_of(args) {
    const same = JSON.stringify(args);
    const call = this.peer.sent.items
      .slice(this.#sent)
      .findLast(
        ({ params }) => params?.name?.startsWith(this.prefix) && JSON.stringify(params.arguments) === same,
      );
    return this.peer.received
      .matching(
        ({ method, params }) => method === 'notifications/progress' && params.progressToken === call.id,
      )
      .map(({ params: { progressToken, ...step } }) => step);
  }

  /** An outcome without what always differs, and without the folder that belongs to this client. */
  comparable(outcome) {
    const text = JSON.stringify(normaliser().any(outcome)) ?? 'null';
    return JSON.parse(text.replaceAll(this.peer.folder, '<folder>'));
  }
}
