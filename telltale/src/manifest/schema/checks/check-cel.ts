import type { Finding } from '../finding.ts';

/** What is wrong with a CEL expression by itself; which names it may use is judged where it stands. */
export function checkCel(source: string): readonly Finding[] {
  if (source.trim() !== '') return [];
  return [
    {
      code: 'bad_expression',
      message: 'The expression is empty.',
      hint: 'Write CEL, e.g. metadata.status == "DONE".',
    },
  ];
}
