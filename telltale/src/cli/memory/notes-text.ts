import { countText } from '../view/figures.ts';

const MEANING: Readonly<Record<string, string>> = {
  too_large: 'too large',
  minified: 'minified',
  binary: 'no text',
  broken: 'with mistakes, read as far as possible',
  unreadable: 'unreadable',
};

/** Of how many files less is known than there is, and why. */
export function notesText(notes: Readonly<Record<string, number>>): string {
  const total = Object.values(notes).reduce((sum, count) => sum + count, 0);
  const parts = Object.entries(notes).map(
    ([note, count]) => `${count.toLocaleString('en')} ${MEANING[note] ?? note}`,
  );
  return `Of ${countText(total, 'file')} less is known: ${parts.join(', ')}`;
}
