// Forms are read as PHP reads them; each pair is what its `parse_str` answers.
import { describe, expect, it } from 'vitest';
import { parseForm, parseQuery, treeOf } from '../../../src/embedded-portal/media/form.ts';
import { MalformedBody } from '../../../src/embedded-portal/media/value.ts';

const read = (form: string): string => JSON.stringify(parseForm(Buffer.from(form)));

describe('a form', () => {
  it.each([
    // lists: every `[]` is a new item
    ['a[]=1&a[]=2', '{"a":["1","2"]}'],
    ['a[x][][t]=1&a[x][][t]=2', '{"a":{"x":[{"t":"1"},{"t":"2"}]}}'],
    ['a[][]=1&a[][]=2', '{"a":[["1"],["2"]]}'],
    ['a[ ]=1', '{"a":["1"]}'],
    // sparse and mixed: the next number follows the highest one
    ['a[2]=x&a[]=y&a[0]=z', '{"a":{"0":"z","2":"x","3":"y"}}'],
    ['a[b]=1&a[]=2&a[c]=3', '{"a":{"0":"2","b":"1","c":"3"}}'],
    ['a[01]=x&a[]=y', '{"a":{"0":"y","01":"x"}}'],
    ['a[1.5]=x', '{"a":{"1.5":"x"}}'],
    ['a[-0]=1&a[]=2', '{"a":{"0":"2","-0":"1"}}'],
    ['a[99999999]=x&a[]=y', '{"a":{"99999999":"x","100000000":"y"}}'],
    ['a[9223372036854775808]=1&a[]=2', '{"a":{"0":"2","9223372036854775808":"1"}}'],
    // the later one counts, also a text after a list and a list after a text
    ['a=1&a=2', '{"a":"2"}'],
    ['a=1&a[]=2', '{"a":["2"]}'],
    ['a[]=1&a=2&a[]=3', '{"a":["3"]}'],
    ['a[0][k]=1&a[0]=s&a[0][j]=2', '{"a":[{"j":"2"}]}'],
    // names
    ['a.b=1&a b=2&a[b.c]=3', '{"a_b":"2","a":{"b.c":"3"}}'],
    ['a..b=1&.c=2', '{"a__b":"1","_c":"2"}'],
    ['a+b=1+2', '{"a_b":"1 2"}'],
    ['a [b]=1', '{"a_":{"b":"1"}}'],
    [' a=1', '{"a":"1"}'],
    ['a[ b ]=1', '{"a":{" b ":"1"}}'],
    ['a%5Bb%5D=1', '{"a":{"b":"1"}}'],
    ['a]=1&a]b[c]=2', '{"a]":"1","a]b":{"c":"2"}}'],
    ['a%00b=1&a[x%00y]=2', '{"a":"1","a_x":"2"}'],
    // brackets that do not match
    ['a[b=1', '{"a_b":"1"}'],
    ['a[b[c=1', '{"a_b_c":"1"}'],
    ['a[b.c d=1', '{"a_b_c_d":"1"}'],
    ['a[b[c]=1', '{"a":{"b[c":"1"}}'],
    ['a[[b]]=1', '{"a":{"[b":"1"}}'],
    ['a[b]c=1', '{"a":{"b":"1"}}'],
    ['a[b]c[d]=1', '{"a":{"b":"1"}}'],
    ['a[b]]=1', '{"a":{"b":"1"}}'],
    ['a[b][c=1', '{"a":{"b":"1"}}'],
    ['a[]b=1', '{"a":["1"]}'],
    ['[a]=1&[[b]=1&[]=1&[=1&=1&%20=1', '{}'],
    // values
    ['&&a&b=&=c', '{"a":"","b":""}'],
    ['a==1&a[b]=c=d', '{"a":{"b":"c=d"}}'],
    ['a=%zz%&b=%C3%A4%zz', '{"a":"%zz%","b":"ä%zz"}'],
    ['a;b=1', '{"a;b":"1"}'],
    ['', '{}'],
  ])('%s', (form, tree) => {
    expect(read(form)).toBe(tree);
  });

  it('cannot touch the prototype of what is made of it', () => {
    expect(read('a[__proto__][x]=1&__proto__[x]=1&constructor=1&a[b]=2')).toBe('{"a":{"b":"2"}}');
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });

  it('is malformed with too many fields, or too many brackets in a name', () => {
    expect(() => parseForm(Buffer.from('a=1&'.repeat(5001)))).toThrow(MalformedBody);
    expect(() => parseForm(Buffer.from(`a${'[b]'.repeat(17)}=1`))).toThrow(MalformedBody);
    expect(() => parseQuery(`a${'[b]'.repeat(17)}=1`)).toThrow(MalformedBody);
    expect(read(`a${'[b]'.repeat(16)}=1`)).toContain('"b":"1"');
  });

  it('in parts has names that are not encoded', () => {
    expect(
      treeOf([
        ['a[%41][]', '1+%42'],
        ['a[%41][]', '2'],
      ]),
    ).toEqual({ a: { '%41': ['1+%42', '2'] } });
  });
});
