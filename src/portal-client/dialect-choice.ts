// Detects the dialect of a portal: set, known, or found by harmless requests and confirmed by replies.

import { paths } from '../dataset-api/paths.ts';
import type { PortalError } from '../model/errors.ts';
import type { Caller } from './caller.ts';
import { type Dialect, isShapedField } from './dialect.ts';
import { bodyOf, nodeRowsSchema, type PortalNode } from './replies.ts';
import type { Traits } from './traits.ts';

/** What the choice is made with. */
interface DialectParts {
  /** What a person set. */
  set: 'auto' | Dialect;
  traits: Traits;
  caller: Caller;
  hasDatastore: (signal: AbortSignal) => Promise<boolean>;
}

/** The dialect of one portal, and how it was come by. */
export class DialectChoice {
  readonly #parts: DialectParts;
  /** What writes are made in until a reply proves it. */
  #guess: Dialect | null = null;
  /** The uuids sent with creates that have not been read back, by nid. */
  readonly #created = new Map<string, string>();

  constructor(parts: DialectParts) {
    this.#parts = parts;
  }

  /** The dialect to write in; found by at most two harmless reads, once per portal. */
  async current(signal: AbortSignal): Promise<Dialect> {
    const { set, traits } = this.#parts;
    if (set !== 'auto') return set;
    const known = traits.get('dialect') ?? this.#guess;
    if (known !== null) return known;
    const found = await this.#find(signal);
    if (found.isCertain) this.#learn(found.dialect);
    else this.#guess = found.dialect;
    return found.dialect;
  }

  /** Remembers a create, so that its read-back can show whether the portal kept the uuid; the last 100 are kept. */
  noteCreate(nid: string, uuid: string): void {
    if (this.#isCertain) return;
    this.#created.set(nid, uuid);
    const oldest = this.#created.size > 100 ? this.#created.keys().next().value : undefined;
    if (oldest !== undefined) this.#created.delete(oldest);
  }

  /** An entity portal keeps the uuid of a create, a form portal makes its own and writes language `und`. */
  noteRead(node: PortalNode): void {
    const sent = this.#created.get(node.nid);
    if (sent === undefined || node.uuid === '') return;
    this.#created.delete(node.nid);
    if (node.uuid.toLowerCase() === sent.toLowerCase()) this.#learn('entity');
    else if (node.language === 'und') this.#learn('form');
  }

  /**
   * Learns from a refused write. True when the other dialect is right and nothing was done, so that the write may be
   * sent once more: only a portal that validates by its form answers `form_errors` (recorded behaviour 2, 8a).
   */
  noteRefusal(error: PortalError): boolean {
    const { set, traits } = this.#parts;
    if (set !== 'auto') return false;
    const current = traits.get('dialect') ?? this.#guess;
    if (current === 'entity' && error.request.formErrors?.some(isShapedField)) {
      this.#learn('form');
      return true;
    }
    // An entity portal takes the keys of a form shape for item numbers and fails with this (recorded behaviour 8).
    if (current === 'form' && formKeyFault.test(error.message)) this.#learn('entity');
    return false;
  }

  get #isCertain(): boolean {
    return this.#parts.set !== 'auto' || this.#parts.traits.get('dialect') !== undefined;
  }

  #learn(dialect: Dialect): void {
    this.#created.clear();
    this.#parts.traits.learn({ dialect });
  }

  /** Datastore endpoints came after the entity dialect (7.16.1), so they prove it; an empty language does as well. */
  async #find(signal: AbortSignal): Promise<{ dialect: Dialect; isCertain: boolean }> {
    const { caller, hasDatastore } = this.#parts;
    if (await hasDatastore(signal)) return { dialect: 'entity', isCertain: true };
    const path = `${paths.nodes}?fields=nid,language&pagesize=20`;
    const reply = await caller.call({ action: 'list nodes', method: 'GET', path }, signal);
    const rows = bodyOf(reply, nodeRowsSchema, caller.portal, 'a list of nodes');
    const isEntity = rows.some((row) => row.language === '' && 'language' in row);
    return { dialect: isEntity ? 'entity' : 'form', isCertain: isEntity };
  }
}

const formKeyFault = /Incorrect integer value: '(?:select|value|textfield|value_field|other)'/;
