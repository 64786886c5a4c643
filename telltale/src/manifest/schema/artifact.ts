import { z } from 'zod';
import { closed } from './closed.ts';
import { name, nonEmptyText, text, version } from './names.ts';

const method = closed(
  { title: 'a method', description: 'A method that decisions may ask.' },
  { description: text('What it decides.').optional() },
);

export const artifact = closed(
  {
    title: 'an Artifact',
    id: 'Artifact',
    description: 'Sandboxed code that takes decisions; versioned in the store, this file being version 1.',
    exactlyOne: [['source', 'module']],
    slips: {
      code: 'Use "source".',
      script: 'Use "source".',
      file: 'Use "module".',
      path: 'Use "module".',
      author: 'The store keeps author, parent version and time by itself.',
      fallback: 'Set the fallback in the step or condition that asks the artifact.',
      cost: 'Set the cost of a call in the agent\'s "budget: { costs: { artifact } }".',
    },
  },
  {
    $schema: nonEmptyText('The JSON Schema of this file, for editors.').optional(),
    kind: z.literal('Artifact'),
    name: name('The name that invocations use.'),
    version: version().optional(),
    description: text('What it decides.').optional(),
    language: z.enum(['js']).default('js').describe('The language of the source.'),
    source: nonEmptyText(
      'Sandboxed JavaScript that exports the methods, or the text of a prompt.',
    ).optional(),
    module: nonEmptyText('A file with that source, relative to this manifest.').optional(),
    methods: z
      .record(name('A method.'), method)
      .meta({
        description:
          'The methods, by name. Without it the source is text: a prompt for "prompt_artifact_id".',
        minProperties: 1,
      })
      .optional(),
  },
);
