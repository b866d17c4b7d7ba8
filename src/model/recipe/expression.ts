// Simple expressions over the cells of a row: `amount > 0 and department in ("Parks", "Roads")`. Never evaluated as code.
import { z } from 'zod';
import { arithmetic, comparison, type Formula, functions, isTrue, textOf } from './expression-values.ts';

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
  while (text.slice(pattern.lastIndex).trim() !== '') {
    const rest = text.slice(pattern.lastIndex).trimStart();
    const at = text.length - rest.length + 1;
    const match = pattern.exec(text);
    if (match === null)
      throw new ExpressionFault(`cannot be read from character ${at} on (\`${rest.slice(0, 12)}\`)`, at);
    found.push({ ...lexemeOf(match), at });
  }
  return [...found, { kind: 'end', value: '', at: text.length + 1 }];
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
  readonly #columnOf: (name: string) => number;
  #next = 0;
  #depth = 0;

  constructor(text: string, columnOf: (name: string) => number) {
    this.#lexemes = lexemesOf(text);
    this.#columnOf = columnOf;
  }

  whole(): Formula {
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

  /** Parses what stands deeper. */
  #inside<T>(parse: () => T): T {
    if (++this.#depth > deepest) throw new ExpressionFault('is nested too deeply', this.#here.at);
    const parsed = parse();
    this.#depth--;
    return parsed;
  }

  #or(): Formula {
    return this.#inside(() => {
      let all = this.#and();
      while (this.#take('or') !== null) {
        const [left, right] = [all, this.#and()];
        all = (cells) => isTrue(left(cells)) || isTrue(right(cells));
      }
      return all;
    });
  }

  #and(): Formula {
    let all = this.#not();
    while (this.#take('and') !== null) {
      const [left, right] = [all, this.#not()];
      all = (cells) => isTrue(left(cells)) && isTrue(right(cells));
    }
    return all;
  }

  #not(): Formula {
    let isNegated = false;
    while (this.#take('not') !== null) isNegated = !isNegated;
    const of = this.#comparison();
    return isNegated ? negated(of) : of;
  }

  #comparison(): Formula {
    const left = this.#sum();
    const op = this.#take('==', '!=', '<=', '>=', '<', '>');
    if (op !== null) return comparison(op as '==', left, this.#sum()); // one of those just named
    if (this.#take('is') !== null) return this.#isEmpty(left);
    const isNegated = this.#take('not') !== null;
    const tested = this.#membership(left);
    if (tested === null) {
      if (isNegated) this.#fail('`in`, `contains` or `matches`');
      return left;
    }
    return isNegated ? negated(tested) : tested;
  }

  #isEmpty(of: Formula): Formula {
    const isNegated = this.#take('not') !== null;
    this.#expect('empty');
    return isNegated ? negated(empty(of)) : empty(of);
  }

  #membership(left: Formula): Formula | null {
    if (this.#take('contains') !== null) {
      const right = this.#sum();
      return (cells) => textOf(left(cells)).includes(textOf(right(cells)));
    }
    if (this.#take('matches') !== null) {
      const pattern = this.#pattern();
      return (cells) => pattern.test(textOf(left(cells)));
    }
    if (this.#take('in') === null) return null;
    this.#expect('(');
    const list = this.#list().map((each) => comparison('==', left, each));
    return (cells) => list.some((each) => each(cells));
  }

  #pattern(): RegExp {
    const { kind, value, at } = this.#here;
    if (kind !== 'text') this.#fail('a regular expression in quotes');
    this.#next++;
    try {
      return new RegExp(value, 'u');
    } catch {
      throw new ExpressionFault(`the text at character ${at} is not a valid regular expression`, at);
    }
  }

  /** Values up to the closing bracket; the opening one is taken. */
  #list(): Formula[] {
    const list = [this.#or()];
    while (this.#take(',') !== null) list.push(this.#or());
    this.#expect(')');
    return list;
  }

  #sum(): Formula {
    let all = this.#product();
    for (;;) {
      const op = this.#take('+', '-', '&');
      if (op === null) return all;
      const [left, right] = [all, this.#product()];
      // `+` or `-`, where it is not `&`
      all = op === '&' ? (cells) => textOf(left(cells)) + textOf(right(cells)) : arithmetic(op as '+', left, right);
    }
  }

  #product(): Formula {
    let all = this.#value();
    for (;;) {
      const op = this.#take('*', '/');
      if (op === null) return all;
      all = arithmetic(op as '*', all, this.#value()); // `*` or `/`
    }
  }

  #value(): Formula {
    if (this.#take('(') !== null) {
      const inner = this.#or();
      this.#expect(')');
      return inner;
    }
    if (this.#take('-') !== null) return this.#inside(() => arithmetic('-', () => 0, this.#value()));
    const { kind, value } = this.#here;
    if (kind === 'end' || kind === 'sign') this.#fail('a column, a number or text in quotes');
    this.#next++;
    if (kind === 'word') return this.#word(value);
    if (kind === 'column') return this.#column(value);
    const constant = kind === 'number' ? Number(value) : value;
    return () => constant;
  }

  #column(name: string): Formula {
    const at = this.#columnOf(name);
    return (cells) => cells[at] ?? '';
  }

  #word(word: string): Formula {
    if (this.#here.value !== '(' || this.#here.kind !== 'sign') {
      if (!reserved.has(word.toLowerCase())) return this.#column(word);
      this.#next--;
      this.#fail('a column (in `backticks` when it is called like that)');
    }
    const { at } = this.#here;
    this.#next++;
    const name = word.toLowerCase();
    const args = this.#list();
    if (name === 'empty' && args[0] !== undefined && args.length === 1) return empty(args[0]);
    const known = functions.get(name);
    if (known === undefined) {
      throw new ExpressionFault(`unknown function \`${word}\`; available: ${[...functions.keys()].join(', ')}`, at);
    }
    const { least, most, of } = known;
    if (args.length < least || args.length > most) {
      const count = least === most ? `${least}` : `${least} to ${most}`;
      throw new ExpressionFault(`\`${name}\` takes ${count} values, not ${args.length}`, at);
    }
    return (cells) => of((index) => args[index]?.(cells));
  }
}

const negated =
  (of: Formula): Formula =>
  (cells) =>
    !isTrue(of(cells));

const empty =
  (of: Formula): Formula =>
  (cells) =>
    textOf(of(cells)).trim() === '';

const reserved = new Set(['and', 'or', 'not', 'in', 'is', 'contains', 'matches', 'empty']);

/** Compiles an expression; `columnOf` gives the index of a column. Throws an {@link ExpressionFault}. */
export const compileExpression = (text: string, columnOf: (name: string) => number): Formula =>
  new Parser(text, columnOf).whole();

export const expressionText = z
  .string()
  .min(1)
  .superRefine((text, context) => {
    try {
      compileExpression(text, () => 0);
    } catch (error) {
      if (!(error instanceof ExpressionFault)) throw error;
      context.addIssue({ code: 'custom', message: `the expression ${error.message}` });
    }
  });
