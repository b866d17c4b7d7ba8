// Expressions: how they are read, what they give, and what is said of wrong ones.

import { describe, expect, it } from 'vitest';
import { compileExpression, ExpressionFault } from '../../../src/model/recipe/expression.ts';
import { NoValue, textOf } from '../../../src/model/recipe/expression-values.ts';
import { draws, fc } from '../../support/extent.ts';

const columns = ['a', 'b', 'name', 'Größe', 'two words'];

/** What an expression gives for a row of the columns above. */
const given = (text: string, cells: string[]): string => {
  const columnOf = (name: string): number => {
    const at = columns.indexOf(name);
    if (at === -1) throw new Error(`no column ${name}`);
    return at;
  };
  return textOf(compileExpression(text, columnOf)(cells));
};

describe('an expression', () => {
  it.each([
    ['a > 5', ['10'], 'true'],
    ['a > 5', ['abc'], 'false'],
    ['a > 5', [''], 'false'],
    ['a != 5', ['abc'], 'true'],
    ['a = 5', ['5.0'], 'true'],
    ['a == "5"', ['5.0'], 'false'],
    ['a == "007"', ['007'], 'true'],
    ['a < b', ['9', '10'], 'true'],
    ['a < b', ['9', 'x'], 'true'],
    ['a == b', ['1', '1.0'], 'false'],
    ['name in ("x", "y")', ['', '', 'y'], 'true'],
    ['name not in ("x", "y")', ['', '', 'z'], 'true'],
    ['a in (1, 2)', ['2.0'], 'true'],
    ['name contains "ar"', ['', '', 'Parks'], 'true'],
    ["name matches '^P.*s$'", ['', '', 'Parks'], 'true'],
    ['empty(a)', [' '], 'true'],
    ['a is empty or b is not empty', ['x', 'y'], 'true'],
    ['not a > 5 and b > 5', ['1', '6'], 'true'],
    ['NOT (a > 5 OR b > 5)', ['1', '6'], 'false'],
    ['a + b * 2', ['1', '3'], '7'],
    ['(a + b) * 2 - -1', ['1', '3'], '9'],
    ['a / b', ['1', '3'], '0.333333333333333'],
    ['0.1 + 0.2', [], '0.3'],
    ['a + 1', [''], ''],
    ['name & "-" & a', ['1', '', 'x'], 'x-1'],
    ['upper(trim(name))', ['', '', ' äß '], 'ÄSS'],
    ['lower(name)', ['', '', 'ÄB'], 'äb'],
    ['length(name)', ['', '', '😀b'], '2'],
    ['slice(name, 2, 2)', ['', '', 'abcd'], 'bc'],
    ['slice(name, 3)', ['', '', 'abcd'], 'cd'],
    ['round(a, 2)', ['1.005'], '1.01'],
    ['round(a)', ['-2.5'], '-3'],
    ['abs(a)', ['-2'], '2'],
    ['if(a > 1, "many", "one")', ['2'], 'many'],
    ['coalesce(a, b, "none")', ['', ''], 'none'],
    ['number(a) + 1', ['2'], '3'],
    ['`two words` & Größe', ['', '', '', 'x', 'y'], 'yx'],
    ['"say \\"hi\\"" & \'\\\\\'', [], 'say "hi"\\'],
    ['true', [], 'no column'],
  ])('%s of %o gives %s', (text, cells, value) => {
    if (value === 'no column') expect(() => given(text, cells)).toThrow('no column true');
    else expect(given(text, cells)).toBe(value);
  });

  it.each([
    ['a >', 'expected a column, a number or text in quotes at character 4, but it ends there'],
    ['a > 1 b', 'expected an operator or the end at character 7, but `b` was found'],
    ['(a', 'expected `)` at character 3, but it ends there'],
    ['a # 1', 'cannot be read from character 3 on (`# 1`)'],
    ['foo(a)', 'unknown function `foo`'],
    ['round(1, 2, 3)', '`round` takes 1 to 2 values, not 3'],
    ['a not 1', 'expected `in`, `contains` or `matches`'],
    ['a matches "("', 'is not a valid regular expression'],
    ['and', 'expected a column (in `backticks` when it is called like that)'],
    ['"open', 'cannot be read from character 1'],
    ['('.repeat(100), 'nested too deeply'],
  ])('%s is refused', (text, message) => {
    expect(() => compileExpression(text, () => 0)).toThrow(ExpressionFault);
    expect(() => compileExpression(text, () => 0)).toThrow(message);
  });

  it('without a value makes the row a bad one', () => {
    expect(() => given('a + 1', ['x'])).toThrow(NoValue);
    expect(() => given('a / 0', ['1'])).toThrow('the result of / is not a number');
  });

  it('never runs what is in it, whatever that is', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 40 }),
        fc.array(fc.string(), { maxLength: 5 }),
        (text, cells) => {
          try {
            expect(typeof given(text, cells)).toBe('string');
          } catch (error) {
            if (error instanceof ExpressionFault || error instanceof NoValue) return;
            expect(String(error)).toContain('no column');
          }
        },
      ),
      { numRuns: draws(2000) },
    );
    for (const text of ['process.exit(1)', 'constructor', '__proto__', 'a.constructor("x")', '`toString`']) {
      expect(() => given(text, [])).toThrow();
    }
  });
});
