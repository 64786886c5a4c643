import { RuntimeError } from '../../lib/errors.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { LearnedFact, MemoryQuery } from '../../memory/memory.ts';
import type { Definition } from './definition.ts';

const hasMemory = ({ memory }: AgentManifest): string | undefined =>
  memory?.graph === undefined ? 'The manifest has no "memory: { graph: FOLDER }".' : undefined;

export const queryKnowledgeGraph: Definition = {
  name: 'query_knowledge_graph',
  description:
    'Looks up the code base without reading files. Give one of: "symbol" (where it is defined, who calls it), "path" (what a file contains, imports and is imported by), "query" (words). The result has file:line, signatures, snippets and known facts.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: {
      query: { type: 'string', description: 'Words.' },
      symbol: { type: 'string', description: 'A name: "run", "Session.run".' },
      path: { type: 'string', description: 'A file.' },
      depth: {
        type: 'integer',
        minimum: 0,
        maximum: 3,
        description: 'Steps from what is found; 1 if absent.',
      },
      limit: { type: 'integer', minimum: 1, maximum: 100 },
      max_tokens: {
        type: 'integer',
        minimum: 100,
        maximum: 20_000,
        description: 'Of the answer; 2000 if absent.',
      },
    },
    additionalProperties: false,
  },
  useless: hasMemory,
  run: async (input, { memory }) => {
    const given = WAYS.filter((way) => input[way] !== undefined);
    if (given.length !== 1) throw oneWay(given);
    const { max_tokens: maxTokens, ...asked } = input as Omit<MemoryQuery, 'maxTokens'> & {
      max_tokens?: number;
    };
    const answer = await (await memory()).query(maxTokens === undefined ? asked : { ...asked, maxTokens });
    // A third of the tokens that the same takes as JSON.
    const { renderAnswer } = await import('../../memory/query/render-answer.ts');
    return renderAnswer(answer);
  },
};

/** Not a `oneOf` of the schema: some providers refuse tools whose schema has one at its top. */
const WAYS = ['query', 'symbol', 'path'] as const;

const oneWay = (given: readonly string[]) =>
  new RuntimeError(
    'bad_parameters',
    given.length === 0
      ? 'None of "query", "symbol" and "path" is given.'
      : `${given.map((way) => `"${way}"`).join(' and ')} are given together.`,
    { hint: 'Give exactly one of "query" (words), "symbol" (a name) and "path" (a file).' },
  );

const MAX_FACTS = 50;
const MAX_FACT_CHARS = 2_000;
const MAX_SUBJECTS = 20;

export const updateKnowledgeGraph: Definition = {
  name: 'update_knowledge_graph',
  description:
    'Keeps what you learned, for later sessions: facts and decisions, each with the files and symbols it is about. A fact goes stale by itself when its files change.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: {
      facts: {
        type: 'array',
        minItems: 1,
        maxItems: MAX_FACTS,
        items: {
          type: 'object',
          properties: {
            text: { type: 'string', minLength: 1, maxLength: MAX_FACT_CHARS, description: 'One statement.' },
            kind: { enum: ['fact', 'decision'], description: 'fact if absent.' },
            about: {
              type: 'array',
              maxItems: MAX_SUBJECTS,
              description: 'What it is about.',
              items: {
                type: 'object',
                properties: { path: { type: 'string' }, symbol: { type: 'string' } },
                minProperties: 1,
                additionalProperties: false,
              },
            },
            supersedes: {
              type: 'array',
              maxItems: MAX_SUBJECTS,
              items: { type: 'string' },
              description: 'Ids of facts that no longer hold.',
            },
          },
          required: ['text'],
          additionalProperties: false,
        },
      },
    },
    required: ['facts'],
    additionalProperties: false,
  },
  useless: hasMemory,
  run: async (input, { memory, state }) => {
    const { facts } = input as unknown as { facts: readonly LearnedFact[] };
    return { ids: [...(await (await memory()).learn(facts, { session: state.id }))] };
  },
};
