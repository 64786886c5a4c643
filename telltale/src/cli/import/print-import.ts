import type { ImportedFile } from '../../importers/workrail/import-workrail.ts';
import { countsOf, type Entry } from '../../importers/workrail/report.ts';
import { formatDiagnostic } from '../../manifest/format-diagnostic.ts';
import type { Palette } from '../../manifest/palette.ts';
import { printable } from '../../manifest/printable.ts';
import { countText } from '../view/figures.ts';

/** What became of a file, for people: its diagnostics, then step by step what was kept, changed and left. */
export function importText({ file, diagnostics, made }: ImportedFile, palette: Palette): string {
  const { bold, red, green } = palette;
  const problems = diagnostics.map((each) => `${formatDiagnostic(each, palette)}\n`);
  if (made === undefined)
    return [
      ...problems,
      `${red('✗')} ${bold(printable(file))} is not a workflow of WorkRail that can be imported.`,
    ].join('\n');
  const steps = [...new Set(made.entries.map(({ step }) => step))];
  return [
    ...problems,
    `${green('✓')} ${bold(printable(file))} is the workflow ${bold(made.workflow)}: ${countsText(made.entries)}`,
    ...steps.flatMap((step) => stepLines(step, made.entries, palette)),
  ].join('\n');
}

function countsText(entries: readonly Entry[]): string {
  const { kept, changed, left } = countsOf(entries);
  return `${countText(kept, 'construct')} kept, ${changed} changed, ${left} left`;
}

function stepLines(step: string | null, entries: readonly Entry[], palette: Palette): readonly string[] {
  const { dim, yellow, red } = palette;
  const own = entries.filter((entry) => entry.step === step);
  const kept = own.filter(({ outcome }) => outcome === 'kept').map(({ construct }) => construct);
  const line = own.find((entry) => entry.line !== undefined)?.line;
  const told = own
    .filter(({ outcome }) => outcome !== 'kept')
    .map(({ construct, outcome, how, line: at }) => {
      const word = outcome === 'changed' ? yellow('changed') : red('left   ');
      return `    ${word} ${printable(construct)}: ${printable(how)}${at === undefined ? '' : dim(` (line ${at})`)}`;
    });
  return [
    `  ${step === null ? 'the workflow' : printable(step)}${line === undefined ? '' : dim(` (line ${line})`)}`,
    ...(kept.length === 0
      ? []
      : [`    ${dim('kept   ')} ${dim([...new Set(kept)].map(printable).join(', '))}`]),
    ...told,
  ];
}
