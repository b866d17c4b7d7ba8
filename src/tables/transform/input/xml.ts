// XML as a stream of events, as workbooks hold it.
import { SaxesParser } from 'saxes';
import { SluiceError, TableInputError } from '../../../model/errors.ts';
import { damaged, type Limits } from '../row.ts';
import { type Bytes, decoded } from './bytes.ts';

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
