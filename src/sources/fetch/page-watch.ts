// Web pages and messages of programs that come with status 200 where a file was expected.
import { SourceRefusedError } from '../../model/errors.ts';
import { type Expectation, printable } from './content.ts';

const pageName = /\.x?html?$/i;
const pageTypes = new Set(['text/html', 'application/xhtml+xml']);
const separatedName = /\.(?:csv|tsv)$/i;
const jsonType = /^application\/(?:[\w.-]+\+)?json$/;

/** So much is held back before it must be clear what it is; a page is read until its title ends. */
const startBytes = 1024;
const titleBytes = 64 * 1024;

/** Looks at the beginning of a body for something else than the data that was expected. */
export class PageWatch {
  private readonly held: Uint8Array[] = [];
  private heldBytes = 0;
  private verdict: 'unknown' | 'page' | 'data';
  private readonly type: string;
  private readonly name: string;
  private readonly where: string;

  /** `type` is the media type of the body; `where` begins the messages. */
  constructor(type: string | null, { name, accept }: Expectation, where: string) {
    this.type = type ?? '';
    this.name = name ?? '';
    this.verdict = pageName.test(this.name) || accept.includes('html') ? 'data' : 'unknown';
    this.where = where;
  }

  /**
   * Takes the next chunk and returns those that may be passed on by now.
   * @throws SourceRefusedError naming what came instead, with the title of a page
   */
  take(chunk: Uint8Array): Uint8Array[] {
    if (this.verdict === 'data') return [chunk];
    this.held.push(chunk);
    this.heldBytes += chunk.length;
    if (this.verdict === 'unknown') this.judge(this.heldBytes >= startBytes);
    return this.passed(this.heldBytes >= titleBytes);
  }

  /** The end of the body; as {@link take}. */
  end(): Uint8Array[] {
    if (this.verdict === 'unknown') this.judge(true);
    return this.passed(true);
  }

  private passed(isAll: boolean): Uint8Array[] {
    if (this.verdict === 'unknown') return [];
    if (this.verdict === 'data') return this.held.splice(0);
    const title = titleOf(this.text());
    if (title === null && !isAll) return [];
    const words = printable(title ?? '');
    throw new SourceRefusedError(
      `${this.where} is a web page${words === '' ? '' : ` titled "${words}"`}, not a file of data`,
      {
        hint: 'open the address in a browser: it may ask for a login, or be the page about the file; put the address of the file itself into `url`',
      },
    );
  }

  /** Most data is known by its first character; for what begins with a tag, `isEnough` must be there. */
  private judge(isEnough: boolean): void {
    const start = this.text()
      .replace(/^\uFEFF/, '')
      .trimStart();
    if (/^[[{]/.test(start) && jsonType.test(this.type) && separatedName.test(this.name)) {
      throw new SourceRefusedError(`${this.where} is JSON, not what ${this.name} should hold`, {
        hint: 'it may be the message of a program that failed: open the address in a browser; if JSON is meant, say so by `name: ….json`',
      });
    }
    if (/^[^<\uFFFD]/.test(start)) this.verdict = 'data';
    else if (isEnough) this.verdict = isPage(start, pageTypes.has(this.type)) ? 'page' : 'data';
  }

  private text(): string {
    return Buffer.concat(this.held).subarray(0, titleBytes).toString('utf8');
  }
}

/** A label alone is not believed: some servers label everything as HTML. */
const isPage = (start: string, isLabelled: boolean): boolean => {
  const tag = firstTag(start);
  return /^<(?:!doctype html|html|head|body|title)\b/i.test(tag) || (isLabelled && /^<(?!\?xml)/.test(start));
};

/** The text from its first tag that is neither a comment nor an XML declaration. */
const firstTag = (text: string): string => {
  let at = 0;
  for (;;) {
    const [begin, end] = text.startsWith('<!--', at) ? ['<!--', '-->'] : ['<?xml', '>'];
    if (!text.startsWith(begin, at)) return text.slice(at, at + 64);
    const closed = text.indexOf(end, at + begin.length);
    if (closed === -1) return '';
    at = closed + end.length;
    while (/\s/.test(text.charAt(at))) at += 1;
  }
};

/** Words of the first title; null before it has ended. */
const titleOf = (text: string): string | null => {
  const lower = text.toLowerCase();
  const tag = lower.indexOf('<title');
  const begin = tag === -1 ? -1 : lower.indexOf('>', tag);
  const end = begin === -1 ? -1 : lower.indexOf('</title', begin);
  return end === -1 ? null : text.slice(begin + 1, end);
};
