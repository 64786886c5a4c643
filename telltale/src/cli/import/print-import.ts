import type { ImportedFile } from '../../importers/importer.ts';
import { countsOf, type Entry } from '../../importers/report.ts';
import { printable } from '../../manifest/diagnostic.ts';
import type { Palette } from '../../manifest/format-diagnostic.ts';
import { formatDiagnostic } from '../../manifest/format-diagnostic.ts';
import { countText } from '../view/figures.ts';

/** What the import did with a file, as text: its diagnostics, then each part that was kept, changed or left out. */
export function importText(
  { file, diagnostics, made }: ImportedFile,
  noun: string,
  palette: Palette,
): string {
  const { bold, red, green } = palette;
  const problems = diagnostics.map((each) => `${formatDiagnostic(each, palette)}\n`);
  if (made === undefined)
    return [...problems, `${red('✗')} ${bold(printable(file))} is not ${noun} that can be imported.`].join(
      '\n',
    );
  const { kind, name, entries } = made;
  const steps = [...new Set(entries.map(({ step }) => step))];
  return [
    ...problems,
    `${green('✓')} ${bold(printable(file))} is the ${kind} ${bold(name)}: ${countsText(entries)}`,
    ...steps.flatMap((step) => stepLines(step, kind, entries, palette)),
  ].join('\n');
}

function countsText(entries: readonly Entry[]): string {
  const { kept, changed, left } = countsOf(entries);
  return `${countText(kept, 'construct')} kept, ${changed} changed, ${left} left`;
}

function stepLines(
  step: string | null,
  kind: string,
  entries: readonly Entry[],
  palette: Palette,
): readonly string[] {
  const { dim, yellow, red } = palette;
  const own = entries.filter((entry) => entry.step === step);
  const kept = own.filter(({ outcome }) => outcome === 'kept').map(({ construct }) => construct);
  const first = own.find((entry) => entry.line !== undefined);
  const notKept = own
    .filter(({ outcome }) => outcome !== 'kept')
    .map((entry) => {
      const word = entry.outcome === 'changed' ? yellow('changed') : red('left   ');
      return `    ${word} ${printable(entry.construct)}: ${printable(entry.how)}${dim(placeText(entry))}`;
    });
  const title = step === null ? `the ${kind}` : printable(step);
  return [
    `  ${title}${first === undefined ? '' : dim(placeText(first))}`,
    ...(kept.length === 0
      ? []
      : [`    ${dim('kept   ')} ${dim([...new Set(kept)].map(printable).join(', '))}`]),
    ...notKept,
  ];
}

function placeText({ file, line }: Entry): string {
  if (file !== undefined) return ` (${printable(file)}${line === undefined ? '' : `:${line}`})`;
  return line === undefined ? '' : ` (line ${line})`;
}
