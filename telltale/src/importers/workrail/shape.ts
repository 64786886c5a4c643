import { z } from 'zod';
import type { Json } from '../../kernel/json.ts';
import { closed } from '../../manifest/schema/closed.ts';
import { nonEmptyText, text } from '../../manifest/schema/names.ts';
import { flag } from '../../manifest/schema/numbers.ts';
import { functionDefinition, step, type WorkrailStep } from './shape-step.ts';

const ID = /^([a-z0-9_-]+|[a-z][a-z0-9_-]+\.[a-z][a-z0-9_-]+)$/;

const entries = (description: string) => z.array(nonEmptyText('An entry.')).describe(description);

const dimension = closed(
  { title: 'a dimension' },
  {
    id: nonEmptyText('Its id.'),
    purpose: nonEmptyText('What it is about.'),
    levels: z.array(nonEmptyText('A level.')).min(2),
    required: flag('Whether it must be given.').optional(),
  },
);

const assessment = closed(
  { title: 'an assessment' },
  {
    id: nonEmptyText('Its id.'),
    purpose: nonEmptyText('What it is for.'),
    dimensions: z.array(dimension).min(1),
  },
);
export type Assessment = z.output<typeof assessment>;

const reference = closed(
  { title: 'a reference' },
  {
    id: nonEmptyText('Its id.'),
    title: nonEmptyText('What it is called.'),
    source: nonEmptyText('The file.'),
    purpose: nonEmptyText('What it is for.'),
    authoritative: flag('Whether it counts where something else differs.'),
    resolveFrom: z.enum(['workspace', 'package']).optional(),
  },
);

const extensionPoint = closed(
  { title: 'an extension point' },
  {
    slotId: nonEmptyText('Its id.'),
    purpose: nonEmptyText('What it is for.'),
    default: nonEmptyText('What stands there by default.'),
    acceptedKinds: z.array(z.enum(['routine', 'workflow'])).optional(),
  },
);

/** A workflow of WorkRail, of all the versions of its schema. */
export const workrailWorkflow = closed(
  { title: 'a WorkRail workflow' },
  {
    $schema: text('The JSON Schema of the file.').optional(),
    id: z.string().regex(ID).min(3).register(z.globalRegistry, {
      description: 'The id of the workflow.',
      expects:
        'at least three lower-case letters, digits, "_" and "-", with one namespace and a dot before them at the most',
    }),
    name: nonEmptyText('The title of the workflow.'),
    description: nonEmptyText('What it does.'),
    version: text('Its version.').optional(),
    modelTier: z.enum(['lightweight', 'mid', 'heavy']).optional(),
    preconditions: entries('What must be there before it begins.').optional(),
    clarificationPrompts: entries('Questions to ask first.').optional(),
    steps: z.array(step).min(1),
    metaGuidance: entries('Rules for the whole of it.').optional(),
    functionDefinitions: z.array(functionDefinition).optional(),
    recommendedPreferences: closed(
      { title: '"recommendedPreferences"' },
      {
        recommendedAutonomy: text('How far it goes by itself.').optional(),
        recommendedRiskPolicy: text('How much is risked.').optional(),
      },
    ).optional(),
    features: z.array(nonEmptyText('A feature.')).optional(),
    assessments: z.array(assessment).optional(),
    extensionPoints: z.array(extensionPoint).optional(),
    references: z.array(reference).optional(),
    validatedAgainstSpecVersion: z.number().optional(),
    about: text('An overview.').optional(),
    examples: z.array(z.custom<Json>(() => true)).optional(),
    metricsProfile: text('Which figures are collected.').optional(),
  },
);

export type WorkrailWorkflow = Omit<z.output<typeof workrailWorkflow>, 'steps'> & {
  readonly steps: readonly WorkrailStep[];
};
