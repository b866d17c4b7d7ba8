// The XML of a workbook as a stream of events, and rows of one sheet from it: values of cells, dates among them, which are
// numbers that only their style marks as dates.
import { SaxesParser } from 'saxes';
import type { Entry } from 'yauzl';
import { lettersOf, SluiceError, TableFaultError, TableInputError } from '../../../model/errors.ts';
import { columnLimit, damaged, type Limits, oversizeRow, type Row, shown, tooManyColumns } from '../row.ts';
import { type Archive, type Bytes, decoded } from './bytes.ts';
import { numberText, type Shows } from './number-format.ts';

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
  const { limits } = content;
  const reader = sheetReader(content);
  for await (const _ of readXml(archive.read(entry), { what: archive.name, events: reader.events, limits })) {
    const rows = reader.taken();
    if (rows.length > 0) yield rows;
  }
  content.onEnd(reader.facts);
}

interface Cell {
  place: string;
  column: number;
  kind: string;
  style: number;
  text: string;
  /** A formula whose result has not been seen. */
  isFormula: boolean;
}

const sheetReader = ({ sheet, shared, styles, since1904, limits }: SheetContent) => {
  const facts: SheetFacts = { unresolved: { count: 0, first: '' }, merged: [] };
  const rows: Row[] = [];
  let row: Row = { line: 0, cells: [] };
  let [size, widest] = [0, 0];
  let cell: Cell = { place: '', column: 0, kind: '', style: 0, text: '', isFormula: false };
  let inValue = false;
  let phonetic = 0;

  const noteMerged = (ref = ''): void => {
    const [, column = '', top, bottom] = /^\$?([A-Z]+)\$?(\d+):\$?[A-Z]+\$?(\d+)$/.exec(ref) ?? [];
    if (top === bottom || facts.merged.length === mostMerged) return;
    facts.merged.push({ column: columnOf(column) + 1, top: Number(top), bottom: Number(bottom) });
  };

  const beginValue = (): void => {
    inValue = true;
    if (cell.kind === 'str') cell.isFormula = false; // it has a result, if only an empty text
  };

  const beginCell = ({ r, t = 'n', s = '0' }: Record<string, string | undefined>): void => {
    const column = r === undefined ? cell.column + 1 : columnOf(r);
    cell = { place: r ?? '', column, kind: t, style: Number(s), text: '', isFormula: false };
  };

  /** Programs that do not compute write such formulas. */
  const unresolved = (): TableFaultError =>
    new TableFaultError(
      'the formula has no result in the file',
      { code: 'table-formula', line: row.line, column: cell.column + 1, sheet },
      { hint: 'open the workbook in a spreadsheet program and save it, which stores the results' },
    );

  const noText = (index: string): string => {
    const { line } = row;
    const place = cell.place || `${cell.column + 1} of its row`;
    throw new TableInputError(
      `sheet ${shown(sheet)}, row ${line}, cell ${place} points at text ${shown(index)}, but the workbook holds ${shared.length.toLocaleString('en')} shared texts`,
      { line, hint: 'the workbook is damaged: open it, look at that cell, and save it again' },
    );
  };

  const valueOfCell = ({ kind, text, style }: Cell): string => {
    const bare = text.trim(); // some programs indent their XML
    // Some write cells of this kind without an index where there is no text.
    if (kind === 's') return bare === '' ? '' : (shared[Number(bare)] ?? noText(bare));
    if (kind === 'b') return /^(?:1|true)$/i.test(bare) ? 'true' : /^(?:0|false)$/i.test(bare) ? 'false' : bare;
    if (kind !== 'n') return unescaped(text);
    return bare === '' ? '' : numberText(bare, styles[style] ?? null, since1904);
  };

  const endCell = (): void => {
    const { cells } = row;
    const { column } = cell;
    if (cell.isFormula && cell.text === '') row.fault ??= unresolved();
    const value = valueOfCell(cell);
    if (value === '') return;
    if (column >= columnLimit) throw tooManyColumns(column + 1);
    if ((cells[column] ?? '') !== '')
      throw damaged(`sheet ${shown(sheet)}`, `cell ${lettersOf(column + 1)}${row.line} is there twice`);
    while (cells.length < column) cells.push('');
    size += value.length;
    if (size > limits.rowBytes) throw oversizeRow(row.line, limits);
    cells[column] = value;
  };

  const endRow = (): void => {
    const { cells, fault } = row;
    // Nobody sees spaces beyond the table.
    const filled = cells.findLastIndex((text) => text.trim() !== '') + 1;
    widest = Math.max(widest, filled);
    cells.length = filled === 0 ? 0 : Math.min(cells.length, widest);
    if (filled > 0)
      rows.push(row); // of empty cells only the style is there
    else if (fault !== undefined && facts.unresolved.count++ === 0)
      facts.unresolved.first = `${lettersOf(fault.column ?? 1)}${fault.line}`;
  };

  const events: XmlEvents = {
    open: (name, found) => {
      if (name === 'v' || name === 't') beginValue();
      else if (name === 'f') cell.isFormula = true;
      else if (name === 'c') beginCell(found);
      else if (name === 'rPh') phonetic++;
      else if (name === 'row') {
        const line = Number(found.r ?? '') || row.line + 1;
        if (line <= row.line) throw damaged(`sheet ${shown(sheet)}`, `row ${line} follows row ${row.line}`);
        row = { line, cells: [] };
        cell.column = -1;
        size = 0;
      } else if (name === 'mergeCell') noteMerged(found.ref);
    },
    text: (piece) => {
      if (!inValue || phonetic > 0) return;
      cell.text += piece;
      if (cell.text.length > limits.rowBytes) throw oversizeRow(row.line, limits);
    },
    close: (name) => {
      if (name === 'v' || name === 't') inValue = false;
      else if (name === 'rPh') phonetic--;
      else if (name === 'c') endCell();
      else if (name === 'row') endRow();
    },
  };
  return { events, facts, taken: () => rows.splice(0) };
};

/** `C5` as 2: letters count in base 26. */
const columnOf = (place: string): number => {
  let column = 0;
  for (let at = 0; at < place.length; at++) {
    const letter = (place.charCodeAt(at) & 0xdf) - 64; // small letters as capitals
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

/** The events of reading XML; names are without their prefix. */
export interface XmlEvents {
  open?: (name: string, attributes: Record<string, string | undefined>) => void;
  text?: (piece: string) => void;
  close?: (name: string) => void;
}

/** Reads XML and yields after each piece; `rowBytes` bounds what the parser holds between two events. */
export async function* readXml(
  bytes: Bytes,
  { what, events, limits }: { what: string; events: XmlEvents; limits: Pick<Limits, 'rowBytes'> },
): AsyncGenerator<void> {
  const parser = new SaxesParser({ xmlns: false });
  let fault: Error | null = null;
  let [quiet, depth] = [0, 0];
  parser.on('error', (error) => {
    fault ??= error;
  });
  parser.on('doctype', () => {
    fault ??= new TableInputError(`${what} holds a document type, which no workbook has`, {
      hint: 'save it again with the program that made it',
    });
  });
  parser.on('opentag', (tag) => {
    quiet = 0;
    if (++depth > deepest) fault ??= new Error(`elements are nested more than ${deepest} levels deep`);
    events.open?.(bare(tag.name), tag.attributes);
  });
  const onText = (piece: string): void => {
    quiet = 0;
    events.text?.(piece);
  };
  parser.on('text', onText);
  parser.on('cdata', onText);
  parser.on('closetag', (tag) => {
    quiet = 0;
    depth--;
    events.close?.(bare(tag.name));
  });
  const throwFault = (): void => {
    if (fault !== null) throw fault instanceof SluiceError ? fault : damaged(what, fault);
  };
  for await (const text of decoded(bytes)) {
    for (let from = 0; from < text.length; from += pieceLength) {
      const piece = text.slice(from, from + pieceLength);
      quiet += piece.length;
      parser.write(piece);
      throwFault();
      if (quiet > limits.rowBytes + pieceLength) throw damaged(what, new Error('a part of it is too large'));
    }
    yield;
  }
  parser.close();
  throwFault();
  yield;
}

const pieceLength = 64 * 1024;

/** Far above what workbooks have: the parser holds every element that is open. */
const deepest = 200;

const bare = (name: string): string => name.slice(name.indexOf(':') + 1);
