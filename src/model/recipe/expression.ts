// Simple expressions over the cells of a row: `amount > 0 and department in ("Parks", "Roads")`. Parsed, never evaluated as code.
import { z } from 'zod';

/** A parsed expression. */
export type Expression =
  | { kind: 'text'; value: string }
  | { kind: 'number'; value: number }
  | { kind: 'column'; name: string }
  | { kind: 'call'; name: FunctionName; args: Expression[] }
  | { kind: 'arithmetic'; op: '+' | '-' | '*' | '/'; left: Expression; right: Expression }
  | { kind: 'join'; left: Expression; right: Expression }
  | { kind: 'compare'; op: '==' | '!=' | '<' | '<=' | '>' | '>='; left: Expression; right: Expression }
  | { kind: 'contains'; left: Expression; right: Expression }
  | { kind: 'matches'; left: Expression; pattern: string }
  | { kind: 'in'; left: Expression; list: Expression[] }
  | { kind: 'empty'; of: Expression }
  | { kind: 'not'; of: Expression }
  | { kind: 'and' | 'or'; left: Expression; right: Expression };

/** Functions with the number of arguments they take. */
const functions = {
  lower: [1, 1],
  upper: [1, 1],
  trim: [1, 1],
  length: [1, 1],
  round: [1, 2],
  abs: [1, 1],
  number: [1, 1],
  slice: [2, 3],
  if: [3, 3],
  coalesce: [1, 20],
} as const;

/** A function of expressions. */
export type FunctionName = keyof typeof functions;

/** An expression cannot be read; `at` counts characters from 1. */
export class ExpressionFault extends Error {
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

interface Lexeme {
  kind: 'number' | 'text' | 'column' | 'word' | 'sign' | 'end';
  value: string;
  at: number;
}

const lexemePattern =
  /\s*(?:(\d+(?:\.\d+)?)|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|`([^`]+)`|([\p{L}_][\p{L}\p{N}_.]*)|(==|!=|<=|>=|[=<>+\-*/&(),]))/uy;

const lexemesOf = (text: string): Lexeme[] => {
  const found: Lexeme[] = [];
  const pattern = new RegExp(lexemePattern);
  for (;;) {
    const from = pattern.lastIndex;
    if (text.slice(from).trim() === '') {
      found.push({ kind: 'end', value: '', at: text.length + 1 });
      return found;
    }
    const match = pattern.exec(text);
    if (match === null) {
      const at = from + (text.slice(from).match(/^\s*/)?.[0].length ?? 0);
      throw new ExpressionFault(`cannot be read from character ${at + 1} on (\`${text.slice(at, at + 12)}\`)`, at + 1);
    }
    const at = pattern.lastIndex - match[0].trimStart().length + 1;
    found.push({ ...lexemeOf(match), at });
  }
};

const lexemeOf = (match: RegExpExecArray): Omit<Lexeme, 'at'> => {
  const [, number, double, single, column, word, sign] = match;
  if (number !== undefined) return { kind: 'number', value: number };
  const quoted = double ?? single;
  if (quoted !== undefined) return { kind: 'text', value: quoted.replaceAll(/\\(.)/gs, '$1') };
  if (column !== undefined) return { kind: 'column', value: column };
  if (word !== undefined) return { kind: 'word', value: word };
  return { kind: 'sign', value: sign === '=' ? '==' : (sign ?? '') };
};

/** Deepest nesting; deeper expressions would only exhaust the stack. */
const deepest = 50;

/** Parses by precedence: or, and, not, comparison, `+ - &`, `* /`, values. */
class Parser {
  readonly #lexemes: Lexeme[];
  #next = 0;
  #depth = 0;

  constructor(text: string) {
    this.#lexemes = lexemesOf(text);
  }

  whole(): Expression {
    const parsed = this.#or();
    if (this.#here.kind !== 'end') this.#fail('an operator or the end');
    return parsed;
  }

  get #here(): Lexeme {
    return this.#lexemes[this.#next] ?? { kind: 'end', value: '', at: 0 };
  }

  #take(...values: string[]): string | null {
    const { kind, value } = this.#here;
    const word = kind === 'word' ? value.toLowerCase() : value;
    if ((kind !== 'sign' && kind !== 'word') || !values.includes(word)) return null;
    this.#next++;
    return word;
  }

  #expect(value: string): void {
    if (this.#take(value) === null) this.#fail(`\`${value}\``);
  }

  #fail(wanted: string): never {
    const { kind, value, at } = this.#here;
    const found = kind === 'end' ? 'it ends there' : `\`${value}\` was found`;
    throw new ExpressionFault(`expected ${wanted} at character ${at}, but ${found}`, at);
  }

  #or(): Expression {
    if (++this.#depth > deepest) throw new ExpressionFault('is nested too deeply', this.#here.at);
    let left = this.#and();
    while (this.#take('or') !== null) left = { kind: 'or', left, right: this.#and() };
    this.#depth--;
    return left;
  }

  #and(): Expression {
    let left = this.#not();
    while (this.#take('and') !== null) left = { kind: 'and', left, right: this.#not() };
    return left;
  }

  #not(): Expression {
    let negations = 0;
    while (this.#take('not') !== null) negations++;
    const of = this.#comparison();
    return negations % 2 === 1 ? { kind: 'not', of } : of;
  }

  #comparison(): Expression {
    const left = this.#sum();
    const op = this.#take('==', '!=', '<=', '>=', '<', '>');
    if (op !== null) return { kind: 'compare', op: op as '==', left, right: this.#sum() }; // one of those just named
    if (this.#take('is') !== null) return this.#isEmpty(left);
    const negated = this.#take('not') !== null;
    const tested = this.#membership(left);
    if (tested === null) {
      if (negated) this.#fail('`in`, `contains` or `matches`');
      return left;
    }
    return negated ? { kind: 'not', of: tested } : tested;
  }

  #isEmpty(of: Expression): Expression {
    const negated = this.#take('not') !== null;
    this.#expect('empty');
    return negated ? { kind: 'not', of: { kind: 'empty', of } } : { kind: 'empty', of };
  }

  #membership(left: Expression): Expression | null {
    if (this.#take('contains') !== null) return { kind: 'contains', left, right: this.#sum() };
    if (this.#take('matches') !== null) return { kind: 'matches', left, pattern: this.#pattern() };
    if (this.#take('in') === null) return null;
    this.#expect('(');
    return { kind: 'in', left, list: this.#list() };
  }

  #pattern(): string {
    const { kind, value, at } = this.#here;
    if (kind !== 'text') this.#fail('a regular expression in quotes');
    this.#next++;
    try {
      new RegExp(value, 'u');
    } catch {
      throw new ExpressionFault(`the text at character ${at} is not a valid regular expression`, at);
    }
    return value;
  }

  /** Values up to the closing bracket; the opening one is taken. */
  #list(): Expression[] {
    const list = [this.#or()];
    while (this.#take(',') !== null) list.push(this.#or());
    this.#expect(')');
    return list;
  }

  #sum(): Expression {
    let left = this.#product();
    for (;;) {
      const op = this.#take('+', '-', '&');
      if (op === null) return left;
      const right = this.#product();
      left = op === '&' ? { kind: 'join', left, right } : { kind: 'arithmetic', op: op as '+', left, right }; // + or -
    }
  }

  #product(): Expression {
    let left = this.#value();
    for (;;) {
      const op = this.#take('*', '/');
      if (op === null) return left;
      left = { kind: 'arithmetic', op: op as '*', left, right: this.#value() }; // * or /
    }
  }

  #value(): Expression {
    if (this.#take('(') !== null) {
      const inner = this.#or();
      this.#expect(')');
      return inner;
    }
    if (this.#take('-') !== null) {
      if (++this.#depth > deepest) throw new ExpressionFault('is nested too deeply', this.#here.at);
      const right = this.#value();
      this.#depth--;
      return { kind: 'arithmetic', op: '-', left: { kind: 'number', value: 0 }, right };
    }
    const { kind, value } = this.#here;
    if (kind === 'end' || kind === 'sign') this.#fail('a column, a number or text in quotes');
    this.#next++;
    if (kind === 'number') return { kind, value: Number(value) };
    if (kind === 'text') return { kind, value };
    return kind === 'word' ? this.#word(value) : { kind: 'column', name: value };
  }

  #word(word: string): Expression {
    if (this.#here.value !== '(' || this.#here.kind !== 'sign') {
      if (reserved.has(word.toLowerCase())) {
        this.#next--;
        this.#fail('a column (in `backticks` when it is called like that)');
      }
      return { kind: 'column', name: word };
    }
    const { at } = this.#here;
    this.#next++;
    const name = word.toLowerCase();
    const args = this.#list();
    if (name === 'empty' && args[0] !== undefined && args.length === 1) return { kind: 'empty', of: args[0] };
    if (!isFunction(name)) {
      throw new ExpressionFault(`unknown function \`${word}\`; available: ${Object.keys(functions).join(', ')}`, at);
    }
    const [least, most] = functions[name];
    if (args.length < least || args.length > most) {
      const count = least === most ? `${least}` : `${least} to ${most}`;
      throw new ExpressionFault(`\`${name}\` takes ${count} values, not ${args.length}`, at);
    }
    return { kind: 'call', name, args };
  }
}

const reserved = new Set(['and', 'or', 'not', 'in', 'is', 'contains', 'matches', 'empty']);

const isFunction = (name: string): name is FunctionName => Object.hasOwn(functions, name);

/** Parses an expression; throws an {@link ExpressionFault}. */
export const parseExpression = (text: string): Expression => new Parser(text).whole();

/** Text that is a sound expression. */
export const expressionText = z
  .string()
  .min(1)
  .superRefine((text, context) => {
    try {
      parseExpression(text);
    } catch (error) {
      if (!(error instanceof ExpressionFault)) throw error;
      context.addIssue({ code: 'custom', message: `the expression ${error.message}` });
    }
  });
