// Bodies that are made to hurt a parser, by what they attack.

const repeat = (text: string, times: number): string => text.repeat(times);
const many = (count: number, part: (i: number) => string, separator = ''): string =>
  Array.from({ length: count }, (_, i) => part(i)).join(separator);

/** Nine levels, each naming the previous one nine times: 400 million values if it were unfolded. */
const aliasBomb = many(9, (i) => `l${i}: &l${i} [${many(9, () => (i === 0 ? 'x' : `*l${i - 1}`), ',')}]\n`);

const entityBomb = `<!DOCTYPE a [<!ENTITY l0 "lol">${many(9, (i) => `<!ENTITY l${i + 1} "${repeat(`&l${i};`, 10)}">`)}]><a>&l9;</a>`;

/** Attacks that every parser must refuse with `MalformedBody`. */
export const refusedBodies: Record<'php' | 'yaml' | 'xml' | 'json', Record<string, string>> = {
  php: {
    'deep nesting': repeat('a:1:{i:0;', 100_000),
    'an array of a huge length': 'a:2147483647:{i:0;N;}',
    'a text of a huge length': 's:9999999999999:"x";',
    'a length of a million digits': `s:${repeat('1', 900_000)}:"x";`,
    'a negative length': 's:-1:"";',
    'too many values': `a:2:{${many(2, (i) => `i:${i};a:100001:{${repeat('i:0;N;', 100_001)}}`)}}`,
    'an object': 'O:8:"stdClass":1:{s:1:"a";i:1;}',
    'an object of a class that acts when it wakes': 'O:5:"Logger":1:{s:4:"file";s:9:"/tmp/evil";}',
    'an object with its own reader': 'C:11:"ArrayObject":0:{}',
    'a reference': 'a:2:{i:0;a:0:{}i:1;R:2;}',
    'an object reference': 'a:1:{i:0;r:1;}',
    'the key __proto__': 'a:1:{s:9:"__proto__";a:1:{s:7:"isAdmin";b:1;}}',
    'trailing junk': 'i:1;i:2;',
    infinity: 'd:INF;',
  },
  yaml: {
    'deep nesting in flow': repeat('[', 100_000),
    'deep nesting in blocks': many(400, (i) => `${repeat(' ', i)}a:\n`),
    'deep nesting of dashes': repeat('- ', 100_000),
    'deep nesting of keys': repeat('? ', 100_000),
    'an alias bomb': aliasBomb,
    'too many aliases': `a: &a x\n${many(200, (i) => `k${i}: *a\n`)}`,
    'a node inside itself': 'a: &a [*a]',
    'an unknown alias': 'a: *b',
    'too many values': repeat('- a\n', 200_001),
    'a function': 'a: !!js/function "function () {}"',
    'an object of python': 'a: !!python/object/apply:os.system ["id"]',
    'a type of its own': 'a: !Thing {b: 1}',
    'the key __proto__': '__proto__:\n  isAdmin: true\n',
    'the key __proto__ by merge': 'a: &a\n  "__proto__": {isAdmin: true}\nb:\n  <<: *a\n',
    'two documents': 'a: 1\n---\nb: 2\n',
    infinity: 'a: !!float .inf',
  },
  xml: {
    'deep nesting': repeat('<a>', 200_000),
    'an entity bomb': entityBomb,
    'an outside entity': '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
    'an outside document type': '<!DOCTYPE a SYSTEM "http://127.0.0.1:9/evil.dtd"><a/>',
    'a document type behind a comment': '<!-- x --><!DOCTYPE a><a/>',
    'an unknown entity': '<a>&nbsp;</a>',
    'a reference to no character': '<a>&#0;</a>',
    'a reference beyond all characters': '<a>&#x110000;</a>',
    'too many elements': `<a is_array="true">${repeat('<b/>', 200_001)}</a>`,
    'too many attributes': `<a ${many(200_001, (i) => `a${i.toString(36)}=""`, ' ')}/>`,
    'a name of 900,000 letters': `<${repeat('a', 900_000)}/>`,
    'comments never closed': `<a>${repeat('<!--', 200_000)}`,
    'CDATA never closed': `<a>${repeat('<![CDATA[', 100_000)}`,
    'instructions never closed': `<a>${repeat('<?x ', 200_000)}`,
    ampersands: `<a>${repeat('&', 900_000)}</a>`,
    'the key __proto__': '<a><__proto__><isAdmin>1</isAdmin></__proto__></a>',
    'another encoding': '<?xml version="1.0" encoding="UTF-7"?><a/>',
    'two roots': '<a/><b/>',
    'nothing but blanks': repeat(' ', 900_000),
  },
  json: {
    'deep nesting': repeat('[', 400_000),
    'deep nesting, closed': repeat('[', 400_000) + repeat(']', 400_000),
    'too many values': `[${many(200_001, () => '1', ',')}]`,
    'the key __proto__': '{"a":{"__proto__":{"isAdmin":true}}}',
    null: 'null',
  },
};

/** Large or odd bodies that may be read or refused, but quickly. */
export const heavyBodies: Record<'php' | 'yaml' | 'xml' | 'json', Record<string, string>> = {
  php: {
    'one long text': `s:900000:"${repeat('x', 900_000)}";`,
    'many values': `a:66000:{${many(66_000, (i) => `i:${i};N;`)}}`,
  },
  yaml: {
    'many keys': many(70_000, (i) => `k${i}: 1\n`),
    'one long flow': `[${repeat('1,', 190_000)}]`,
    backslashes: `"${repeat('\\\\', 400_000)}"`,
    'an open quote': `"${repeat('a ', 400_000)}`,
    'blank lines in a block': `a: |\n${repeat('\n', 900_000)}`,
    colons: `a${repeat(':', 900_000)}`,
    hashes: repeat('#', 900_000),
    tabs: `a:${repeat('\t', 900_000)}`,
    directives: repeat('%X\n', 300_000),
    anchors: many(50_000, (i) => `- &a${i} x\n`),
    digits: `a: ${repeat('1', 900_000)}`,
    'digits and underscores': `a: ${repeat('1_', 450_000)}`,
  },
  xml: {
    references: `<a>${repeat('&amp;', 190_000)}</a>`,
    'many children': `<a>${many(60_000, (i) => `<k${i}/>`)}</a>`,
    'text in pieces': `<a>${repeat('x<!---->', 100_000)}</a>`,
    'blanks in a tag': `<a${repeat(' ', 900_000)}/>`,
    'CDATA in pieces': `<a>${repeat('<![CDATA[x]]>', 70_000)}</a>`,
  },
  json: {
    'many keys': `{${many(60_000, (i) => `"k${i}":1`, ',')}}`,
    escapes: `"${repeat('\\u0041', 160_000)}"`,
  },
};

/** One sound body of each type, to cut and to spoil. */
export const soundBodies: Record<'php' | 'yaml' | 'xml' | 'json', string> = {
  php: 'a:3:{s:5:"title";s:5:"Bäum";s:1:"n";d:-1.5;s:4:"body";a:2:{i:0;b:1;i:1;N;}}',
  yaml: 'title: "Bäum"\nn: -1.5\nbody: [true, null]\ntext: |\n  a\n  b\nalias: &x {y: 1}\nagain: *x\n',
  xml: '<?xml version="1.0"?><n a="b"><title>B&#228;um &amp; x</title><!-- c --><l is_array="true"><item/><item><![CDATA[<]]></item></l></n>',
  json: '{"title":"B\\u00e4um","n":-1.5,"body":[true,null,{"a":"b"}]}',
};
