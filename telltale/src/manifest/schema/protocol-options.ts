import { z } from 'zod';
import { closed } from './closed.ts';
import { flag } from './numbers.ts';
import { byteSize } from './quantities.ts';

export const protocolOptions = closed(
  { title: '"protocol"', description: "How the model's tags are read." },
  {
    on_sync: z
      .enum(['buffer', 'observe'])
      .default('buffer')
      .describe(
        'At a sync action: buffer what follows, or cut the generation and show the result in the next turn.',
      ),
    actions_in: z
      .array(z.enum(['outside', 'thought', 'response']))
      .default(['outside', 'thought'])
      .describe('Where actions, metadata and control tags count.'),
    bare_text: z
      .enum(['auto', 'remind', 'final', 'nudge'])
      .default('auto')
      .describe(
        'Text without tags or calls. auto: the answer in chats and in the dialect tools, else one reminder. remind: one reminder, then it is the answer (formerly nudge). final: the answer at once.',
      ),
    final_with_actions: z
      .enum(['held', 'accept', 'hold', 'bind'])
      .default('held')
      .describe(
        'A final response beside an action whose result it neither names nor could have seen. held: the model sees the results first and confirms it (formerly hold). accept: it counts once the actions have succeeded (formerly bind).',
      ),
    seal: flag('true: every tag that acts must carry the key of the session.').default(false),
    max_body: byteSize('The longest body of a tag.').prefault('1MiB'),
  },
);
