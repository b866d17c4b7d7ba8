// The cookies of one session, turned into a request header at little cost.
import { CookieJar } from 'tough-cookie';

/** How long a computed header is used before expiry is checked again. */
const freshMs = 60_000;

/** The cookie jar of one session with one portal. */
export class Cookies {
  private readonly jar = new CookieJar(undefined, { rejectPublicSuffixes: false, looseMode: true });
  private readonly url: string;
  private readonly headers = new Map<string, { value: string; at: number }>();

  /** `url` is the portal's address without trailing slash. */
  constructor(url: string) {
    this.url = url;
  }

  /** Takes over the `Set-Cookie` headers of a reply to `path`; unreadable ones are left out. */
  store(path: string, setCookie: string[] | string | undefined): void {
    if (setCookie === undefined) return;
    for (const line of [setCookie].flat()) this.jar.setCookieSync(line, this.url + path, { ignoreError: true });
    this.headers.clear();
  }

  /** Adds the session cookie by name where the login names it in its body only (spec 5). */
  ensure(path: string, name: string | undefined, value: string | undefined): void {
    if (name === undefined || value === undefined || /[\s;=,]/.test(name) || /[\s;,]/.test(value)) return;
    if (this.jar.getCookiesSync(this.url + path).some((cookie) => cookie.key === name)) return;
    this.store(path, `${name}=${value}; path=/`);
  }

  /** The `Cookie` header for a request to `path`, '' when there is nothing to send. */
  header(path: string): string {
    const room = path.replace(/^(\/[^/?]+(?:\/[^/?]+)?).*$/s, '$1');
    const known = this.headers.get(room);
    const now = Date.now();
    if (known !== undefined && now - known.at < freshMs) return known.value;
    const value = this.jar.getCookieStringSync(this.url + path);
    this.headers.set(room, { value, at: now });
    return value;
  }

  /** The values of all cookies, to keep them out of messages. */
  values(): string[] {
    return this.jar.getCookiesSync(`${this.url}/`, { allPaths: true, expire: false }).map((cookie) => cookie.value);
  }
}
