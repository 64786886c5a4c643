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
      .enum(['nudge', 'final'])
      .default('nudge')
      .describe('A turn without any tag: ask again, or take it as the final response.'),
    final_with_actions: z
      .enum(['bind', 'hold'])
      .default('bind')
      .describe(
        'hold undoes a final response that shares a turn with an action whose result it does not name.',
      ),
    seal: flag('true: every tag that acts must carry the key of the session.').default(false),
    max_body: byteSize('The longest body of a tag.').prefault('1MiB'),
  },
);
