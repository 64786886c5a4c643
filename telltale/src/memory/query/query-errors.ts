import { RuntimeError } from '../../kernel/runtime-error.ts';

export const queryMalformed = (given: number) =>
  new RuntimeError(
    'query_malformed',
    given === 0
      ? 'The query of the knowledge graph asks for nothing.'
      : `The query of the knowledge graph has ${given} of query, symbol and path.`,
    { hint: 'Give one of them: query for words, symbol for a name, path for a file.' },
  );
