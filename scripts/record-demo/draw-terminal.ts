import type { Shown, Span } from './terminal.ts';

const CHARACTER = 7.8;
const LINE = 18;
const PADDING = 14;
/** How long the last picture stays before it begins again. */
const REST_SECONDS = 6;

const CSS = `text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d7dae0;white-space:pre}
.dim{fill:#8b93a1}.bold{font-weight:700}.red{fill:#f47067}.green{fill:#6bc46d}.yellow{fill:#daaa3f}.cyan{fill:#39c5cf}
@media (prefers-reduced-motion){.moving{visibility:hidden}}`;

/**
 * What a terminal showed, as an animation that repeats. Rows that do not fit scroll. Where animations are off, the last
 * picture is shown.
 */
export function drawTerminal(shown: readonly Shown[], columns: number, rows: number): string {
  const end = Math.max(...shown.map(({ from }) => from)) + REST_SECONDS;
  const percent = (seconds: number) => `${((100 * seconds) / end).toFixed(2)}%`;
  const width = Math.ceil(columns * CHARACTER + 2 * PADDING);
  const height = rows * LINE + 2 * PADDING;
  const keyframes: string[] = [];
  const lines = shown.map(({ row, spans, from, to }, index) => {
    const y = PADDING + row * LINE + 13;
    const steps = to === undefined ? [] : [`${percent(to)}{visibility:hidden}`];
    keyframes.push(
      `@keyframes k${index}{0%{visibility:hidden}${percent(from)}{visibility:visible}${steps.join('')}}`,
    );
    const kind = to === undefined ? '' : ' class="moving"';
    return `<text${kind} style="animation:k${index} ${end.toFixed(2)}s step-end infinite" x="${PADDING}" y="${y}">${spans.map(tspan).join('')}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="A run of telltale demo">
<style>${CSS}
${keyframes.join('\n')}
${scrolling(shown, rows, percent)}
.scroll{animation:scroll ${end.toFixed(2)}s step-end infinite}</style>
<rect width="100%" height="100%" rx="8" fill="#1c2128"/>
<svg x="0" y="${PADDING}" width="${width}" height="${rows * LINE}"><g transform="translate(0,${-PADDING})"><g class="scroll">
${lines.join('\n')}
</g></g></svg>
</svg>
`;
}

/** Moves up by a row whenever one appears below the last. */
function scrolling(shown: readonly Shown[], rows: number, percent: (seconds: number) => string): string {
  const steps = ['0%{transform:translateY(0)}'];
  let top = 0;
  for (const { row, from } of shown) {
    if (row - rows + 1 <= top) continue;
    top = row - rows + 1;
    steps.push(`${percent(from)}{transform:translateY(${-top * LINE}px)}`);
  }
  return `@keyframes scroll{${steps.join('')}}`;
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

function tspan({ text, style }: Span): string {
  const escaped = text.replaceAll(/[&<>]/g, (character) => ESCAPES[character] ?? character);
  return style === '' ? escaped : `<tspan class="${style}">${escaped}</tspan>`;
}
