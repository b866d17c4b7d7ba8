// Rows of one sheet of a workbook from its XML: values of cells, dates among them, which are numbers that only their style
// marks as dates.
import type { Entry } from 'yauzl';
import { lettersOf, TableFaultError, TableInputError } from '../../../model/errors.ts';
import { type Limits, oversizeRow, type Row, shown, tooManyColumns } from '../row.ts';
import type { Archive } from './archive.ts';
import { numberText, type Shows } from './number-format.ts';
import { attributes, readXml, type XmlEvents } from './xml.ts';

export interface SheetContent {
  sheet: string;
  shared: string[];
  styles: (Shows | null)[];
  since1904: boolean;
  limits: Limits;
  onEnd: (facts: SheetFacts) => void;
}

export interface SheetFacts {
  /** Formulas without a result in rows that hold nothing else: how many, and where the first of them is. */
  unresolved: { count: number; first: string };
  /** Cells that were merged over several rows: number of the column, first and last row. */
  merged: { column: number; top: number; bottom: number }[];
}

const mostMerged = 100_000;

/** Yields the rows of a sheet; empty rows are left out. */
export async function* readSheet(archive: Archive, entry: Entry, content: SheetContent): AsyncGenerator<Row[]> {
  const reader = new SheetReader(content);
  for await (const _ of readXml(archive.read(entry), {
    what: archive.name,
    events: reader.events,
    limits: content.limits,
  })) {
    if (reader.rows.length === 0) continue;
    const rows = reader.rows;
    reader.rows = [];
    yield rows;
  }
  if (reader.rows.length > 0) yield reader.rows;
  content.onEnd(reader.facts);
}

class SheetReader {
  readonly #content: SheetContent;
  rows: Row[] = [];
  readonly facts: SheetFacts = { unresolved: { count: 0, first: '' }, merged: [] };
  #place = '';
  #formula = false;
  #row: Row = { line: 0, cells: [] };
  #size = 0;
  #column = 0;
  #kind = '';
  #style = 0;
  #text = '';
  #inValue = false;
  #phonetic = 0;

  constructor(content: SheetContent) {
    this.#content = content;
  }

  readonly events: XmlEvents = {
    open: (name, tag) => {
      if (name === 'v' || name === 't') this.#beginValue();
      else if (name === 'f') this.#formula = true;
      else if (name === 'c') this.#beginCell(attributes(tag));
      else if (name === 'rPh') this.#phonetic++;
      else if (name === 'row') this.#beginRow(attributes(tag).r);
      else if (name === 'mergeCell') this.#noteMerged(attributes(tag).ref ?? '');
    },
    text: (piece) => {
      if (!this.#inValue || this.#phonetic > 0) return;
      this.#text += piece;
      if (this.#text.length > this.#content.limits.rowBytes) throw oversizeRow(this.#row.line, this.#content.limits);
    },
    close: (name) => {
      if (name === 'v' || name === 't') this.#inValue = false;
      else if (name === 'rPh') this.#phonetic--;
      else if (name === 'c') this.#endCell();
      else if (name === 'row') this.#endRow();
    },
  };

  #beginRow(number: string | undefined): void {
    this.#row = { line: Number(number ?? '') || this.#row.line + 1, cells: [] };
    this.#size = 0;
  }

  /** Empty cells are left out: only their style is there. */
  #endRow(): void {
    const { cells, fault } = this.#row;
    if (cells.length > 0) {
      this.rows.push(this.#row);
      return;
    }
    if (fault === undefined) return;
    const { unresolved } = this.facts;
    if (unresolved.count++ === 0) unresolved.first = `${lettersOf(fault.column ?? 1)}${fault.line}`;
  }

  #noteMerged(ref: string): void {
    const [, column = '', top, bottom] = /^\$?([A-Z]+)\$?(\d+):\$?[A-Z]+\$?(\d+)$/.exec(ref) ?? [];
    const { merged } = this.facts;
    if (top === bottom || merged.length === mostMerged) return;
    merged.push({ column: columnOf(column) + 1, top: Number(top), bottom: Number(bottom) });
  }

  #beginValue(): void {
    this.#inValue = true;
    if (this.#kind === 'str') this.#formula = false; // it has a result, if only an empty text
  }

  #beginCell({ r, t, s }: Record<string, string | undefined>): void {
    this.#column = r === undefined ? this.#row.cells.length : columnOf(r);
    this.#kind = t ?? 'n';
    this.#style = Number(s ?? 0);
    this.#text = '';
    this.#place = r ?? '';
    this.#formula = false;
  }

  #endCell(): void {
    const { cells } = this.#row;
    if (this.#formula && this.#text === '') this.#row.fault ??= this.#unresolved();
    const cell = this.#value();
    if (cell === '') return;
    if (this.#column >= this.#content.limits.columns) throw tooManyColumns(this.#column + 1, this.#content.limits);
    while (cells.length < this.#column) cells.push('');
    this.#size += cell.length;
    if (this.#size > this.#content.limits.rowBytes) throw oversizeRow(this.#row.line, this.#content.limits);
    cells[this.#column] = cell;
  }

  /** Programs that do not compute write such formulas. */
  #unresolved(): TableFaultError {
    return new TableFaultError(
      'the formula has no result in the file',
      { code: 'table-formula', line: this.#row.line, column: this.#column + 1, sheet: this.#content.sheet },
      { hint: 'open the workbook in a spreadsheet program and save it, which stores the results' },
    );
  }

  /** Some programs write cells of this kind without an index where there is no text. */
  #noText(index: string): string {
    if (index === '') return '';
    const { line } = this.#row;
    const cell = this.#place || `${this.#column + 1} of its row`;
    throw new TableInputError(
      `sheet ${shown(this.#content.sheet)}, row ${line}, cell ${cell} points at text ${shown(index)}, but the workbook holds ${this.#content.shared.length.toLocaleString('en')} shared texts`,
      {
        line,
        hint: 'the workbook is damaged: open it, look at that cell, and save it again',
      },
    );
  }

  #value(): string {
    const text = this.#text;
    const { shared, styles, since1904 } = this.#content;
    if (this.#kind === 's') return shared[Number(text)] ?? this.#noText(text);
    if (this.#kind === 'b') return text === '1' ? 'true' : 'false';
    if (this.#kind !== 'n') return unescaped(text);
    if (text === '') return '';
    return numberText(text, styles[this.#style] ?? null, since1904);
  }
}

/** `C5` as 2: letters count in base 26. */
const columnOf = (place: string): number => {
  let column = 0;
  for (let at = 0; at < place.length; at++) {
    const letter = place.charCodeAt(at) - 64;
    if (letter < 1 || letter > 26) break;
    column = column * 26 + letter;
  }
  return Math.max(0, column - 1);
};

/** A text with its escapes resolved: characters that XML cannot hold are written as `_x000D_`. */
export const unescaped = (text: string): string =>
  text.includes('_x')
    ? text.replaceAll(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    : text;
