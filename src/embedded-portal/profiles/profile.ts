// All differences between the specification and deployed releases, in one place.
import type { Field, NodeType } from '../content/fields.ts';
import type { RenderedTexts } from '../content/long-texts.ts';
import type { DefaultFormats } from '../media/formats.ts';
import type { WriteStyle } from '../media/value.ts';
import type { Refusal } from '../refusal.ts';
import type { FieldItems, StoredNode } from '../store/nodes.ts';
import type { Store } from '../store/open.ts';
import type { User } from '../store/users.ts';

/** Names of the profiles. */
export type ProfileName = 'spec' | 'dkan-7.18.16' | 'dkan-7.18' | 'dkan-7.14';

/** Names of the resources in paths. */
export type ResourceName = 'node' | 'user' | 'datastore' | 'file' | 'taxonomy_term';

/** What a body says about the fields of a node; what it does not mention is not there. */
export interface FieldChanges {
  /** Items by field; an empty list clears the field. */
  items: FieldItems;
  /** Fields that stay empty although created nodes have a default for them. */
  undefaulted?: string[];
  /** New targets of the reference field. */
  targets?: number[];
  /** New files of the upload field. */
  fids?: number[];
  /** What the request is answered although the node is saved. */
  fault?: Refusal;
}

/** Core properties of a node as a body sets them. Times are Unix seconds. */
export interface CoreChanges {
  title?: string;
  uid?: number;
  status?: number;
  language?: string;
  created?: number;
  log?: string;
  promote?: number;
  sticky?: number;
  comment?: number;
  uuid?: string;
  /** False: written over the current revision. */
  newRevision?: boolean;
}

/** What a strategy that reads a body may look at. It runs inside the write, so what it adds (terms) is undone when it throws. */
export interface ReadContext {
  store: Store;
  user: User;
  type: NodeType;
  /** The node as it is, null on create. */
  node: StoredNode | null;
  fields: readonly Field[];
  /** HTML of the long texts in the body. */
  rendered: RenderedTexts;
  /** Value of `field_datastore_status` as a read shows it. */
  shownStatus: string;
  /** Unix seconds. */
  now: number;
}

/** What can be wrong with a list query (spec 4.3). */
export type ListFault =
  | { kind: 'column'; name: string; clause: 'SELECT' | 'WHERE' | 'ORDER BY' }
  | { kind: 'no-columns' }
  /** A list or map where one text must stand. */
  | { kind: 'not-text'; parameter: 'fields' | 'page' | 'pagesize'; unlimited: boolean }
  | { kind: 'filter-list'; column: string; seesAll: boolean }
  | { kind: 'too-many-values'; column: string }
  /** A page number or size that is no number, or a filter that names no field, where the profile is strict. */
  | { kind: 'malformed'; parameter: string; wanted: string }
  /** A comparison that the profile refuses. */
  | { kind: 'operator'; op: string; value: string; window: string; seesAll: boolean }
  | { kind: 'negative'; limit: number; offset: number; seesAll: boolean };

/** The datastore of a release. */
export interface RecordedRelease {
  /** How often waiting tables are imported, milliseconds; null: never. */
  cronMs: number | null;
  /** `configurable_properties` of a datastore without configuration. */
  defaultProperties: Readonly<Record<string, unknown>>;
  /** The answer to a failed search: statement and exception, or a hint at the log; `fatal`: every search ends in an error page. */
  searchFaults: 'sql' | 'log' | 'fatal';
}

/** A profile: data, and small functions where data does not do. */
export interface Profile {
  name: ProfileName;
  /** Names of the resources that exist. */
  resources: readonly ResourceName[];
  fields: Readonly<Record<NodeType, readonly Field[]>>;
  /** Reads core properties; throws a Refusal. */
  readCore: (body: Record<string, unknown>, context: ReadContext) => CoreChanges;
  /** Reads fields; throws a Refusal. */
  readFields: (body: Record<string, unknown>, context: ReadContext) => FieldChanges;
  /** True: a create with a known uuid is refused with 409. */
  uuidsAreUnique: boolean;
  /** Items of a file beside the recorded ones. */
  fileItemExtras: Readonly<Record<string, unknown>>;
  /** The datastore of a release as recorded; null: our own one, which imports a valid table when it is attached. */
  recordedDatastore: RecordedRelease | null;
  /** True: a reference needs the right to edit the node on its other side, which is written as well. */
  guardsOtherSides: boolean;
  /** True: an update of a resource saves its datasets too where they changed long before it. */
  renewsDatasets: boolean;
  /** Of the resources that get other groups in one request, more than so many wait for cron. */
  mostGroupedAtOnce: number;
  /** True: overlapping requests interfere unless that is switched off. */
  races: boolean;
  /** True: a request header selects version 1.1 of login. */
  hasLoginVersions: boolean;
  /** True: the portal keeps `field_datastore_status`; false: it shows what was sent. */
  keepsDatastoreStatus: boolean;
  /** True: a read shows `path` before `name`. */
  pathFirst: boolean;
  /** True: creating a page redirects to it; false: it is answered like every create. */
  showsNewPages: boolean;
  /** The answer to an attach (spec 4.8). */
  attachAnswer: (file: { fid: string; uri: string }) => unknown;
  /** The answer to a delete (spec 4.7): `null` for an empty body. */
  deleteAnswer: unknown;
  /** The answer to a datastore configuration that names a manager, to an attach to a filled field, and to several files at once. */
  refuse: (message: string) => Refusal;
  /** True: an attach without a file part answers `[]` (and empties the field with `attach` 0); false: 406. */
  attachWithoutFile: boolean;
  /** True: a file that replaces one of the same name takes over its public address; false: it gets a new one. */
  keepsAddresses: boolean;
  /** File name extensions that may be attached, lower case. */
  extensions: readonly string[];
  /** True: programs are taken all the same, and stored as text under `name.php.txt`. */
  takesPrograms: boolean;
  /** MIME types by extension that differ from the usual ones. */
  mimeTypes: Readonly<Record<string, string>>;
  /** True: the item of an image has its size, and has its texts as fields. */
  describesImages: boolean;
  /** The formats where a request leaves it open. */
  formats: DefaultFormats;
  /** True: results of datastores are YAML whatever Accept says (spec 4.9 to 4.11); their errors follow it. */
  datastoresAreYaml: boolean;
  writeStyle: WriteStyle;
  /** Content types of the specification that are refused all the same. */
  refusedTypes: readonly string[];
  /** True for a body that is accepted but not read. */
  isUnread: (contentType: string, method: string) => boolean;
  /** The answer to an Accept or Content-Type that is no MIME type. */
  malformedMime: (message: string) => Refusal;
  /** True: parsers say where a body is malformed. */
  explainsMalformed: boolean;
  /** The answer to a list query that cannot be; null: the fault is passed over. */
  listFault: (fault: ListFault) => Refusal | null;
  /** True: the catalogue of the site (`data.json`, `package_show` …) answers a request without `page` with its first page's address. */
  pagesCatalogue: boolean;
  /** Longest reason phrase, characters. */
  longestReason: number;
  /** True: a dead session cookie is answered with its deletion, and a warning starts an anonymous session. */
  tendsCookies: boolean;
  /**
   * True: a list shows nodes as reads do, or the named fields only, finds former revisions by `vid`, has 20 rows a page for
   * everybody, and takes nothing that it would pass over; false: columns of the node table and `uri`, as recorded.
   */
  strictLists: boolean;
  /** True: answers reveal which accounts exist and which are blocked, and show every account to everybody. */
  tellsAccounts: boolean;
  /** True: the user object shows `init` to the user himself, and `data` is always a text. */
  fullAccounts: boolean;
  /** Comparisons of a list's filters: equality only, those that exist, or any, where unknown ones count as equality. */
  operators: 'equality' | 'known' | 'any';
  /** True: answers to a logged-in user are not cacheable, and a Host that is not ours is not repeated. */
  guardsCaches: boolean;
  /** True: slashes that follow each other count as one everywhere in a path; false: only before the resource's name. */
  mergesSlashes: boolean;
  /** Further attributes of the session cookie. */
  cookieAttributes: string;
  /** True: files go out as from a web server: to everybody, even when their node is not published, bare and under their own type. */
  bareFiles: boolean;
  /** True: the address that a read shows as `path` leads to a page about the node, and `/` to a list of datasets. */
  pages: boolean;
  /** Title of the portal's own pages. */
  siteName: string;
}
