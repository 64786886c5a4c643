import { z } from 'zod';
import { closed } from './closed.ts';
import { metadataField } from './metadata-field.ts';
import { identifier, text } from './names.ts';
import { count } from './numbers.ts';
import { byteSize } from './quantities.ts';

/** What a model may declare about itself, and how it is told of it. */
export const metadata = closed(
  {
    title: '"metadata"',
    description: 'What the model may declare about itself; workflows are triggered by it.',
    slips: {
      schema: 'Put fields under "fields", each with its type. Only a field of type object has a "schema".',
      persistence: 'Use "scope: session" or "scope: agent" to set how long metadata lives.',
      max_fields: 'Put limits under "limits: { fields, bytes, depth }".',
      max_size: 'Put limits under "limits: { fields, bytes, depth }".',
    },
  },
  {
    scope: z
      .enum(['session', 'agent'])
      .default('session')
      .describe('agent: kept between runs of this agent.'),
    on_invalid: z
      .enum(['field', 'all'])
      .default('field')
      .describe(
        'field: valid fields apply, invalid ones become soft errors; all: one bad field rejects the update.',
      ),
    limits: closed(
      { title: '"metadata.limits"', description: 'How much metadata may hold.' },
      {
        fields: count('The greatest number of fields.').default(32),
        bytes: byteSize('The greatest size of all values as JSON.').prefault('64KiB'),
        depth: count('The greatest depth of a value.').default(8),
      },
    ).prefault({}),
    inherit: z
      .enum(['none', 'read', 'share'])
      .default('none')
      .describe(
        'What it gets of the metadata of an agent that calls it. none: nothing; read: the values, to look at; share: fields that both have begin with the values of the caller, and changes are written back.',
      ),
    fields: z
      .record(identifier('The name of a field.'), metadataField)
      .prefault({})
      .describe('The fields, by name.'),
    injection: closed(
      { title: '"metadata.injection"', description: 'How the model sees fields and values.' },
      {
        method: z
          .enum(['auto', 'on_change', 'off'])
          .default('on_change')
          .describe(
            'When the model is shown them. auto: all fields with their values before every turn; on_change: the values at first, then those that changed; off: never.',
          ),
        template: text('A page.')
          .nullable()
          .default(null)
          .describe(
            'A page of your own with {fields} {current} {values.NAME} {errors}; a line "- NAME:" may use {values} and {current_value}.',
          ),
      },
    ).prefault({}),
  },
);
