import type { LearnedFact } from '../../../memory/memory.ts';
import type { Definition } from '../definition.ts';
import { hasMemory } from './has-memory.ts';

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
