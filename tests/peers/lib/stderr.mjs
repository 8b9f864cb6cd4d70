// The stderr of what a test runs: shown when the test fails, and searched for what a sanitizer found.
export class Stderr {
  #text = '';

  /** Without a stream, for what writes none to us, it stays empty. */
  constructor(stream) {
    stream?.setEncoding('utf8').on('data', (text) => (this.#text = (this.#text + text).slice(-20_000)));
  }

  /** Its end, as part of an error message. */
  end() {
    return this.#text && `\nits stderr ended with\n${this.#text.slice(-2000)}`;
  }

  /**
   * Throws what a sanitizer said, which would otherwise go unnoticed. Call it when the process has ended.
   */
  check() {
    const found = this.#text.match(/^.*(Sanitizer:|runtime error:)[^]*/m);
    if (found) throw new Error(found[0]);
  }
}
