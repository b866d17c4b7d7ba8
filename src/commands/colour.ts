// Colours of lines on a terminal: of the words that say how something stands, where they stand alone, and of what to do.
import { styleText } from 'node:util';

/** True where a stream shows colours: a terminal that has them, as NO_COLOR, FORCE_COLOR and TERM say. */
export const hasColours = (stream: NodeJS.WriteStream): boolean => styleText('red', ' ', { stream }) !== ' ';

/** Between two blanks, commas or colons, or at an end of the line: so in no title or message. */
const alone = (words: string): string => `(?<=^| {2}|: |, |\\d )(?:${words})(?=$| {2}|:|,)`;

const styles: [pattern: string, style: Parameters<typeof styleText>[0]][] = [
  ['^ *->(?= )', 'cyan'],
  ['^(?:live|next)(?=: )', 'cyan'],
  ['^(?:HELD|OVERDUE)\\b', 'yellow'],
  ['^(?:sluice|error)(?=: )|(?<=^\\d\\d:\\d\\d:\\d\\d {2})error(?=: )', 'red'],
  ['^ *(?:warning|remark)(?=: )|(?<=^\\d\\d:\\d\\d:\\d\\d {2})warn(?=: )', 'yellow'],
  [alone('failed|faulty|quarantined|not live|with failures'), 'red'],
  [alone('held|stale|draft|cancelled|fixable|paused|retrying'), 'yellow'],
  [alone('live|sound|fine'), 'green'],
  ['\\[[a-z-]+\\]$', 'red'],
  ['\\b\\d+%(?= of )', 'bold'],
];

const all = new RegExp(styles.map(([pattern]) => `(${pattern})`).join('|'), 'g');

/** A line, without control characters, in colours. */
export const coloured = (line: string): string =>
  line.replace(all, (found: string, ...groups: (string | undefined)[]) => {
    const [, style] = styles[groups.findIndex((group) => group !== undefined)] ?? [];
    return style === undefined ? found : styleText(style, found, { validateStream: false });
  });
