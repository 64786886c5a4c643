import { z } from 'zod';
import { choice } from './choice.ts';
import { closed } from './closed.ts';
import { isMap } from './is-map.ts';
import { jsonObject } from './json-value.ts';
import { name, nonEmptyText, text, version } from './names.ts';
import { flag } from './numbers.ts';
import { positiveDuration } from './quantities.ts';

const RELIC_DRIVERS = ['kv', 'log', 'sql', 'redis', 'http', 'queue'] as const;

/** Drivers that live in the runtime's own store when they have no connection. */
export const EMBEDDED_DRIVERS: readonly string[] = ['kv', 'log', 'queue'];

const address = nonEmptyText('A SQLite file, postgres://, redis:// or http(s):// address.');
const options = jsonObject('The driver\'s own options. "url" is its address.');

export const relic = closed(
  {
    title: 'a Relic',
    id: 'Relic',
    description: 'A persistent service that outlives sessions.',
    keywords: {
      if: {
        required: ['driver'],
        properties: {
          driver: { enum: RELIC_DRIVERS.filter((driver) => !EMBEDDED_DRIVERS.includes(driver)) },
        },
      },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { required: ['connection'] },
    },
    slips: {
      type: 'Use "driver".',
      url: 'Use "connection".',
      host: 'Put it in "connection", as an address.',
      port: 'Put it in "connection", as an address.',
      path: 'Use "connection".',
      ttl: 'Set the time to live in each kv call: { operation: set, key, value, ttl }.',
      operations: 'The driver defines the operations. "telltale inspect relic NAME" lists them.',
      methods: 'The driver defines the operations. "telltale inspect relic NAME" lists them.',
      timeout_seconds: 'Use "timeout": a bare number is seconds.',
    },
  },
  {
    $schema: nonEmptyText('The JSON Schema of this file, for editors.').optional(),
    kind: z.literal('Relic'),
    name: name('The name that actions call.'),
    version: version().optional(),
    description: text('What it keeps; the model reads it.').optional(),
    driver: z
      .enum(RELIC_DRIVERS)
      .describe('kv, log and queue live in the runtime\'s own store unless "connection" says otherwise.'),
    connection: choice([address, options], (value) => (isMap(value) ? options : address))
      .optional()
      .describe('Where it is. sql, redis and http need one.'),
    idempotent: flag('true: calls may be made again after a crash.').default(false),
    approval: z.enum(['always', 'never']).default('never').describe('always: a person approves each call.'),
    timeout: positiveDuration(
      "Time for each try, unless the action sets its own; the agent's action_timeout if absent.",
    ).optional(),
  },
);
