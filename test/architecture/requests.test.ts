// Requests go through dispatchers of our own: the global one may be that of Node, in another version than ours.
import { expect, it } from 'vitest';
import { sourceFiles, textOf } from '../support/source-tree.ts';

/** What sends through the global dispatcher unless it is told otherwise. */
const globals = /\b(?:request|fetch|stream|pipeline|connect|upgrade)\b/;

it('no file asks the global dispatcher for anything', () => {
  const found = sourceFiles('src')
    .filter((path) => !path.startsWith('src/web/pages/assets')) // runs in browsers
    .flatMap((path) => {
      const text = textOf(path);
      const [, names = ''] = /import \{([^}]*)\} from 'undici'/.exec(text) ?? [];
      const calls = /(?<![.\w])fetch\(/.test(
        text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*|(?:private )?async fetch\(/g, ''),
      );
      return globals.test(names) || calls ? [path] : [];
    });
  expect(found).toEqual([]);
});
