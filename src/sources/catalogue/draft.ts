// A dataset under construction: values mapped from one entry, and those that could not be mapped.
import type { DatasetMetadata } from '../../dataset-api/metadata.ts';
import type { NodeFields } from '../../model/wish.ts';
import { longestText, shortLine } from './values.ts';

/** A friendly key with its value still changeable. */
type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Tells that a part of an entry is published otherwise than it stands, or not at all. */
export type Remark = (part: string, what: string) => void;

/** See the head of this file. */
export class Draft {
  /** Friendly keys, as in a manifest. */
  readonly metadata: Mutable<DatasetMetadata> = {};
  /** Node fields that have no friendly key. */
  readonly fields: NodeFields = {};
  readonly #info: Record<string, string> = {};
  readonly #remark: Remark;

  constructor(remark: Remark) {
    this.#remark = remark;
  }

  /** What the portal shows as further facts about the dataset. */
  get info(): Record<string, string> {
    return this.#info;
  }

  /** Tells that `part` is not published as it stands. */
  remark(part: string, what: string): void {
    this.#remark(part, what);
  }

  /** One line of text that fits a plain field; what is too long is cut, with a remark. */
  short(part: string, text: string, longest = longestText): string {
    return shortLine(text, longest, (what) => this.remark(part, what));
  }

  /** Adds a further fact. An address that is too long is left out, because half an address leads nowhere. */
  addInfo(part: string, name: string, text: string): void {
    const isAddress = /^[a-z]+:\/\//i.test(text);
    if (isAddress && text.length > longestText) this.remark(part, 'left out: the address is too long for the portal');
    else this.#info[name] = this.short(part, text);
  }
}
