// Which dialect a portal speaks: set, known, or found by harmless requests and proven by replies.
import { paths } from '../dkan/paths.ts';
import type { PortalError } from '../errors.ts';
import { type Dialect, isShapedField } from './dialect.ts';
import { bodyOf, nodeRowsSchema, type PortalNode } from './replies.ts';
import type { Session } from './session.ts';
import type { PortalHooks, PortalSettings } from './settings.ts';
import { abortable } from './wait.ts';

/** The dialect of one portal, and how it was come by. */
export class DialectChoice {
  private readonly session: Session;
  private readonly hasDatastore: (signal: AbortSignal) => Promise<boolean>;
  private readonly hooks: PortalHooks;
  private readonly pinned: boolean;
  private dialect: Dialect | null;
  /** True once a reply proved it, or a person set it. */
  private certain: boolean;
  private finding: Promise<Dialect> | null = null;
  /** The uuids sent with creates that have not been read back, by nid. */
  private readonly created = new Map<string, string>();

  constructor(
    session: Session,
    hasDatastore: (signal: AbortSignal) => Promise<boolean>,
    { settings, hooks }: { settings: PortalSettings; hooks: PortalHooks },
  ) {
    this.session = session;
    this.hasDatastore = hasDatastore;
    this.hooks = hooks;
    this.pinned = settings.dialect !== 'auto';
    this.dialect = settings.dialect === 'auto' ? (hooks.knownDialect ?? null) : settings.dialect;
    this.certain = this.dialect !== null;
  }

  /** The dialect to write in; found by at most two harmless reads, once per portal. */
  async current(signal: AbortSignal): Promise<Dialect> {
    if (this.dialect !== null) return this.dialect;
    this.finding ??= this.find().finally(() => {
      this.finding = null;
    });
    return abortable(this.finding, signal);
  }

  /** Remembers a create, so that its read-back can tell whether the portal kept the uuid; the last 100 are kept. */
  noteCreate(nid: string, uuid: string): void {
    if (this.pinned || this.certain) return;
    this.created.set(nid, uuid);
    const oldest = this.created.size > 100 ? this.created.keys().next().value : undefined;
    if (oldest !== undefined) this.created.delete(oldest);
  }

  /** An entity portal keeps the uuid of a create, a form portal makes its own and writes language `und`. */
  noteRead(node: PortalNode): void {
    const sent = this.created.get(node.nid);
    if (sent === undefined || node.uuid === '') return;
    this.created.delete(node.nid);
    if (node.uuid.toLowerCase() === sent.toLowerCase()) this.learn('entity');
    else if (node.language === 'und') this.learn('form');
  }

  /**
   * Learns from a refused write. True when the other dialect is right and nothing was done, so that the write may be
   * sent once more: only a portal that validates by its form answers `form_errors` (recorded behaviour 2, 8a).
   */
  noteRefusal(error: PortalError): boolean {
    if (this.pinned) return false;
    if (this.dialect === 'entity' && error.request.formErrors?.some(isShapedField)) {
      this.learn('form');
      return true;
    }
    // An entity portal takes the keys of a form shape for item numbers and fails with this (recorded behaviour 8).
    if (this.dialect === 'form' && formKeyFault.test(error.message)) this.learn('entity');
    return false;
  }

  private learn(dialect: Dialect): void {
    if (this.certain && this.dialect === dialect) return;
    this.dialect = dialect;
    this.certain = true;
    this.created.clear();
    this.hooks.onDialect?.(dialect);
  }

  /** Datastore endpoints came after the entity dialect (7.16.1), so they prove it; an empty language does as well. */
  private async find(): Promise<Dialect> {
    if (await this.hasDatastore(this.session.signal)) {
      this.learn('entity');
      return 'entity';
    }
    const call = {
      action: 'list nodes',
      method: 'GET',
      path: `${paths.nodes}?fields=nid,language&pagesize=20`,
    } as const;
    const reply = await this.session.call(call, this.session.signal);
    const rows = bodyOf(reply, nodeRowsSchema, this.session.portal, 'a list of nodes');
    if (rows.some((row) => row.language === '' && 'language' in row)) {
      this.learn('entity');
      return 'entity';
    }
    this.dialect = 'form';
    return 'form';
  }
}

const formKeyFault = /Incorrect integer value: '(?:select|value|textfield|value_field|other)'/;
