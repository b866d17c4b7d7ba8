// Drawings of numbers between axes, as SVG without scripts; the pages give them their height, width and colours.
import { type Html, html, type Part } from './html.ts';

/** A step of 1, 2 or 5 times a power of ten, of which about `parts` make the range. */
export const stepOf = (range: number, parts: number): number => {
  const power = 10 ** Math.floor(Math.log10(range / parts));
  return ([1, 2, 5].find((times) => times * power * parts >= range) ?? 10) * power;
};

export const numberText = (value: number, digits = 12): string =>
  Number(value.toPrecision(digits)).toLocaleString('en', { maximumFractionDigits: 10 });

/** The ticks of an axis from above, in steps that people count in; with 0 where that is near. */
export const ticksOf = (values: readonly number[]): number[] => {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const from = least > 0 && least < most * 0.7 ? 0 : least;
  const step = stepOf(most - from || Math.abs(most) || 1, 4);
  const low = Math.floor(from / step);
  const high = Math.max(Math.ceil(most / step), low + 1);
  return Array.from({ length: high - low + 1 }, (_, at) => (high - at) * step);
};

/** A drawing that is as wide as its place, between its axes. Coordinates go from 0 to 1000, and from 0 above to 100. */
export const plotHtml = (label: string, ticks: readonly number[], labels: readonly string[], shapes: Part): Html => {
  const lines = ticks.map((_, at) => `M0 ${(at * 100) / (ticks.length - 1)}H1000`).join('');
  return html`<div class="plot">
<p class="ticks" aria-hidden="true">${ticks.map((tick) => html`<span>${numberText(tick)}</span>`)}</p>
<svg viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label="${label}"><path class="grid" d="${lines}"/>${shapes}</svg>
<p class="names" aria-hidden="true">${labels.map((text) => html`<bdi>${text}</bdi>`)}</p>
</div>`;
};

/** How they are laid out, for a stylesheet that has the colours `--soft` and `--line`. */
export const plotStyle = `.plot{display:grid;grid-template-columns:auto 1fr;gap:.25rem .6rem;color:var(--soft);font-size:.8125rem;padding-top:.5rem}
.plot p{display:flex;justify-content:space-between;margin:0}
.plot .ticks{flex-direction:column;text-align:end;line-height:1rem;margin:-.5rem 0}
.plot .names{grid-column:2}
.plot svg{width:100%;overflow:visible}
.plot path{fill:none;stroke:var(--line);vector-effect:non-scaling-stroke}`;
