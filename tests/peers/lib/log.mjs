// A list of messages that can be waited for, so that no test needs to sleep.
import { patience } from './commands.mjs';

export class Log {
  #waiting = new Set();
  items = [];

  /** `name` and `describe()` go into the error of a wait that timed out. */
  constructor(name, describe = () => '') {
    this.name = name;
    this.describe = describe;
  }

  add(item) {
    this.items.push(item);
    for (const waiting of this.#waiting) waiting.look();
  }

  /** All items so far that match: a method's name or a predicate. */
  matching(match) {
    return this.items.filter(typeof match === 'string' ? (item) => item.method === match : match);
  }

  /** The `count`th matching item, as soon as it exists. Fails when that takes too long. */
  until(match, count = 1) {
    return new Promise((resolve, reject) => {
      const waiting = {
        look: () => {
          const found = this.matching(match);
          if (found.length < count) return;
          this.#waiting.delete(waiting);
          clearTimeout(timer);
          resolve(found[count - 1]);
        },
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(waiting);
        const last = this.items.slice(-5).map((item) => `  ${JSON.stringify(item).slice(0, 300)}`);
        reject(
          new Error(
            `${this.name}: waited ${patience / 1000} s for number ${count} of ${match}; ` +
              `the last ones were\n${last.join('\n')}${this.describe()}`,
          ),
        );
      }, patience);
      this.#waiting.add(waiting);
      waiting.look();
    });
  }
}
