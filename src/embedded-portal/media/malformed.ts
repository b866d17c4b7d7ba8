// The one error of every parser of request bodies.

/** Where in the body a fault is. Lines and columns count from 1, offsets (in bytes) from 0. */
export interface FaultPosition {
  line?: number | undefined;
  column?: number | undefined;
  offset?: number | undefined;
}

const placeOf = ({ line, column, offset }: FaultPosition): string => {
  if (line !== undefined) return ` (line ${line}${column === undefined ? '' : `, column ${column}`})`;
  return offset === undefined ? '' : ` (byte ${offset})`;
};

/** A request body that is not what its content type says, or more than a parser accepts. The message names the place. */
export class MalformedBody extends Error {
  /** The message without the place. */
  readonly reason: string;
  readonly line: number | undefined;
  readonly column: number | undefined;
  readonly offset: number | undefined;

  constructor(reason: string, position: FaultPosition = {}) {
    super(`${reason}${placeOf(position)}`);
    this.name = 'MalformedBody';
    this.reason = reason;
    this.line = position.line;
    this.column = position.column;
    this.offset = position.offset;
  }
}

/** Line and column of an index in a text. */
export const positionAt = (text: string, index: number): FaultPosition => {
  const before = text.slice(0, index);
  const lastBreak = before.lastIndexOf('\n');
  let line = 1;
  for (let at = before.indexOf('\n'); at !== -1; at = before.indexOf('\n', at + 1)) line += 1;
  return { line, column: index - lastBreak };
};
