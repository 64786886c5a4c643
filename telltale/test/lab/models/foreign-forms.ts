import type { JsonObject } from '../../../src/lib/json.ts';

/** Forms in which models were trained to write calls as text. */
export const FOREIGN_FORMS = [
  'json',
  'hermes',
  'invoke',
  'mistral',
  'llama',
  'react',
  'python-tag',
  'harmony',
  'tool-calls',
  'own-tags',
] as const;
export type ForeignForm = (typeof FOREIGN_FORMS)[number];

export interface ForeignCall {
  readonly name: string;
  readonly parameters: JsonObject;
}

const write: Readonly<Record<ForeignForm, (calls: readonly ForeignCall[]) => string>> = {
  json: (calls) =>
    calls.map(({ name, parameters }) => JSON.stringify({ name, arguments: parameters })).join('\n'),
  hermes: (calls) =>
    calls
      .map(
        ({ name, parameters }) =>
          `<tool_call>\n${JSON.stringify({ name, arguments: parameters })}\n</tool_call>`,
      )
      .join('\n'),
  invoke: (calls) =>
    `<function_calls>\n${calls.map(({ name, parameters }) => `<invoke name="${name}">\n${xml(parameters)}\n</invoke>`).join('\n')}\n</function_calls>`,
  mistral: (calls) =>
    `[TOOL_CALLS] ${JSON.stringify(calls.map(({ name, parameters }) => ({ name, arguments: parameters })))}`,
  llama: (calls) =>
    calls
      .map(({ name, parameters }) => `<function=${name}>${JSON.stringify(parameters)}</function>`)
      .join('\n'),
  react: (calls) =>
    calls
      .map(({ name, parameters }) => `Action: ${name}\nAction Input: ${JSON.stringify(parameters)}`)
      .join('\n\n'),
  'python-tag': (calls) =>
    `<|python_tag|>${calls.map(({ name, parameters }) => JSON.stringify({ name, parameters })).join('; ')}`,
  harmony: (calls) =>
    calls
      .map(
        ({ name, parameters }) =>
          `<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>${JSON.stringify(parameters)}<|call|>`,
      )
      .join(''),
  'tool-calls': (calls) =>
    JSON.stringify({
      tool_calls: calls.map(({ name, parameters }, index) => ({
        id: `call_${index}`,
        type: 'function',
        function: { name, arguments: JSON.stringify(parameters) },
      })),
    }),
  // A form of our own, foreign only to the dialects with native calls.
  'own-tags': (calls) =>
    calls
      .map(
        ({ name, parameters }) => `<action type="tool">\n${JSON.stringify({ name, parameters })}\n</action>`,
      )
      .join('\n'),
};

const xml = (parameters: JsonObject): string =>
  Object.entries(parameters)
    .map(
      ([name, value]) =>
        `<parameter name="${name}">${typeof value === 'string' ? value : JSON.stringify(value)}</parameter>`,
    )
    .join('\n');

export const inForm = (form: ForeignForm, calls: readonly ForeignCall[]): string => write[form](calls);
