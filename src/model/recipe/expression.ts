// Simple expressions over the cells of a row: `amount > 0 and department in ("Parks", "Roads")`. Never evaluated as code.
import { z } from 'zod';
import { isPattern } from '../schema-parts.ts';
import { arithmetic, compared, type Formula, functions, isTrue, textOf } from './expression-values.ts';

/** An expression cannot be read; the message continues a sentence about it. */
export class ExpressionFault extends Error {}

interface Lexeme {
  kind: 'number' | 'text' | 'column' | 'word' | 'sign' | 'end';
  value: string;
  at: number;
}

const lexemePattern =
  /\s*(?:(\d+(?:\.\d+)?)|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|`([^`]+)`|([\p{L}_][\p{L}\p{N}_.]*)|(==|!=|<=|>=|[=<>+\-*/&(),]))/uy;

/** The kinds of the groups of that pattern. */
const groups = ['number', 'text', 'text', 'column', 'word', 'sign'] as const;

const lexemesOf = (text: string): Lexeme[] => {
  const found: Lexeme[] = [];
  const pattern = new RegExp(lexemePattern);
  while (text.slice(pattern.lastIndex).trim() !== '') {
    const rest = text.slice(pattern.lastIndex).trimStart();
    const at = text.length - rest.length + 1;
    const [, ...parts] = pattern.exec(text) ?? [];
    const group = parts.findIndex((part) => part !== undefined);
    const [kind, value = ''] = [groups[group], parts[group]];
    if (kind === undefined)
      throw new ExpressionFault(`cannot be read from character ${at} on (\`${rest.slice(0, 12)}\`)`);
    found.push({ kind, value: kind === 'text' ? value.replaceAll(/\\(.)/gs, '$1') : value, at });
  }
  return [...found, { kind: 'end', value: '', at: text.length + 1 }];
};

/** Deepest nesting; deeper expressions would only exhaust the stack. */
const deepest = 50;

/** What operators of one precedence make of two formulas. */
type Joined<Op> = (op: Op, left: Formula, right: Formula) => Formula;

/** Compiles by precedence: or, and, not, comparison, `+ - &`, `* /`, values. @throws ExpressionFault */
export const compileExpression = (text: string, columnOf: (name: string) => number): Formula => {
  const lexemes = lexemesOf(text);
  let next = 0;
  let depth = 0;
  const here = (): Lexeme => lexemes[next] ?? { kind: 'end', value: '', at: 0 };
  const take = <Value extends string>(...values: Value[]): Value | null => {
    const { kind, value } = here();
    const word = kind === 'word' ? value.toLowerCase() : value;
    const found = kind === 'sign' || kind === 'word' ? values.find((each) => each === word) : undefined;
    if (found !== undefined) next++;
    return found ?? null;
  };
  const fail = (wanted: string): never => {
    const { kind, value, at } = here();
    const found = kind === 'end' ? 'it ends there' : `\`${value}\` was found`;
    throw new ExpressionFault(`expected ${wanted} at character ${at}, but ${found}`);
  };
  const expect = (value: string): unknown => take(value) ?? fail(`\`${value}\``);
  const inside = (parse: () => Formula): Formula => {
    if (++depth > deepest) throw new ExpressionFault('is nested too deeply');
    const formula = parse();
    depth--;
    return formula;
  };
  const chain = <Op extends string>(operators: Op[], operand: () => Formula, joined: Joined<Op>): Formula => {
    let all = operand();
    for (let op = take(...operators); op !== null; op = take(...operators)) all = joined(op, all, operand());
    return all;
  };
  const or = (): Formula => inside(() => chain(['or'], and, either));
  const and = (): Formula => chain(['and'], not, both);
  const not = (): Formula => (take('not') === null ? comparison() : inside(() => negated(not())));
  const comparison = (): Formula => {
    const left = sum();
    const op = take('==', '=', '!=', '<=', '>=', '<', '>');
    if (op !== null) return compared(op === '=' ? '==' : op, left, sum());
    const isEmpty = take('is') !== null;
    const isNegated = take('not') !== null;
    if (isEmpty) expect('empty');
    const tested = isEmpty ? empty(left) : membership(left);
    if (tested === null) return isNegated ? fail('`in`, `contains` or `matches`') : left;
    return isNegated ? negated(tested) : tested;
  };
  const membership = (left: Formula): Formula | null => {
    if (take('contains') !== null) {
      const right = sum();
      return (cells) => textOf(left(cells)).includes(textOf(right(cells)));
    }
    if (take('matches') !== null) {
      const regular = pattern();
      return (cells) => regular.test(textOf(left(cells)));
    }
    if (take('in') === null) return null;
    expect('(');
    const values = list().map((each) => compared('==', left, each));
    return (cells) => values.some((each) => each(cells));
  };
  const pattern = (): RegExp => {
    const { kind, value, at } = here();
    if (kind !== 'text') fail('a regular expression in quotes');
    next++;
    if (!isPattern(value)) throw new ExpressionFault(`the text at character ${at} is not a valid regular expression`);
    return new RegExp(value, 'u');
  };
  /** Values up to the closing bracket; the opening one is taken. */
  const list = (): Formula[] => {
    const values = [or()];
    while (take(',') !== null) values.push(or());
    expect(')');
    return values;
  };
  const sum = (): Formula =>
    chain(['+', '-', '&'], product, (op, left, right) =>
      op === '&' ? (cells) => textOf(left(cells)) + textOf(right(cells)) : arithmetic(op, left, right),
    );
  const product = (): Formula => chain(['*', '/'], value, arithmetic);
  const value = (): Formula => {
    if (take('(') !== null) {
      const inner = or();
      expect(')');
      return inner;
    }
    if (take('-') !== null) return inside(() => arithmetic('-', () => 0, value()));
    const { kind, value: found } = here();
    if (kind === 'end' || kind === 'sign') fail('a column, a number or text in quotes');
    next++;
    if (kind === 'word') return word(found);
    if (kind === 'column') return column(found);
    const constant = kind === 'number' ? Number(found) : found;
    return () => constant;
  };
  const column = (name: string): Formula => {
    const at = columnOf(name);
    return (cells) => cells[at] ?? '';
  };
  const word = (text: string): Formula => {
    const name = text.toLowerCase();
    if (take('(') === null) {
      if (!/^(?:and|or|not|in|is|contains|matches|empty)$/.test(name)) return column(text);
      next--;
      return fail('a column (in `backticks` when it is called like that)');
    }
    const args = list();
    if (name === 'empty' && args[0] !== undefined && args.length === 1) return empty(args[0]);
    const known = functions.get(name);
    if (known === undefined)
      throw new ExpressionFault(`unknown function \`${text}\`; available: ${[...functions.keys()].join(', ')}`);
    const { least, most, of } = known;
    if (args.length < least || args.length > most) {
      const count = least === most ? `${least}` : `${least} to ${most}`;
      throw new ExpressionFault(`\`${name}\` takes ${count} values, not ${args.length}`);
    }
    return (cells) => of((index) => args[index]?.(cells));
  };
  const whole = or();
  return here().kind === 'end' ? whole : fail('an operator or the end');
};

const either: Joined<'or'> = (_, left, right) => (cells) => isTrue(left(cells)) || isTrue(right(cells));

const both: Joined<'and'> = (_, left, right) => (cells) => isTrue(left(cells)) && isTrue(right(cells));

const negated =
  (of: Formula): Formula =>
  (cells) =>
    !isTrue(of(cells));

const empty =
  (of: Formula): Formula =>
  (cells) =>
    textOf(of(cells)).trim() === '';

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
