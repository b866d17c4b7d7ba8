// What can differ between the specification and the releases in the field, in one place.
import type { Field, NodeType } from '../content/fields.ts';
import type { DefaultFormats } from '../media/negotiate.ts';
import type { WriteStyle } from '../media/value.ts';
import type { FieldItems, StoredNode } from '../store/nodes.ts';
import type { Store } from '../store/open.ts';
import type { User } from '../store/users.ts';

/** Names of the profiles. */
export type ProfileName = 'spec' | 'dkan-7.18' | 'dkan-7.14';

/** What a body says about the fields of a node; what it does not mention is not there. */
export interface FieldChanges {
  /** Items by field; an empty list clears the field. */
  items: FieldItems;
  /** New targets of the reference field. */
  targets?: number[];
  /** New files of the upload field. */
  fids?: number[];
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
}

/** A profile: data, and small functions where data does not do. */
export interface Profile {
  name: ProfileName;
  /** Which resources exist. */
  resources: { file: boolean; datastore: boolean };
  fields: Readonly<Record<NodeType, readonly Field[]>>;
  /** Reads core properties; throws a Refusal. */
  readCore: (body: Record<string, unknown>, context: ReadContext) => CoreChanges;
  /** Reads fields; throws a Refusal. */
  readFields: (body: Record<string, unknown>, context: ReadContext) => FieldChanges;
  /** True: a create with a known uuid is refused with 409. */
  uuidsAreUnique: boolean;
  /** Items of a file beside the recorded ones. */
  fileItemExtras: Readonly<Record<string, unknown>>;
  /** True: a valid table is imported when it is attached. */
  importsOnAttach: boolean;
  /** The answer to an attach (spec 4.8). */
  attachAnswer: (file: { fid: string; uri: string }) => unknown;
  /** The answer to a delete (spec 4.7): `null` for an empty body. */
  deleteAnswer: unknown;
  /** Status of an attach to a filled field, and of several files at once. */
  tooManyFilesStatus: number;
  /** True: an attach without a file part answers `[]` (and empties the field with `attach` 0); false: 406. */
  attachWithoutFile: boolean;
  /** File name extensions that may be attached, lower case. */
  extensions: readonly string[];
  /** The format where a request leaves it open; on datastore endpoints and elsewhere. */
  formats: { datastore: DefaultFormats; other: DefaultFormats };
  writeStyle: WriteStyle;
  /** True: bodies of all content types of the specification are read; false: as recorded. */
  readsAllTypes: boolean;
  /** True: parsers say where a body is malformed. */
  explainsMalformed: boolean;
  /** True: messages about list queries show SQL as recorded. */
  showsSql: boolean;
  /** Further attributes of the session cookie. */
  cookieAttributes: string;
  /** True: the bytes of a file are open to everybody, even when its node is not published. */
  filesArePublic: boolean;
  /** Title of the portal's own pages. */
  siteName: string;
}
