import { describe, expect, it } from 'vitest';
import type { Dialect } from '../../../src/parser/dialect-parser.ts';
import { speak } from '../speak.ts';
import { runTeam } from './run-team.ts';

const DIALECTS: readonly Dialect[] = ['tags', 'tools', 'step'];

describe('an agent and one that it calls', () => {
  it.each(DIALECTS.flatMap((own) => DIALECTS.map((other) => [own, other] as const)))(
    'may speak %s and %s',
    async (own, other) => {
      const input = { input: 'For a1.' };
      const ran = await runTeam(
        { echo: { manifest: `dialect: ${other}\n`, turns: [speak(other, [{ respond: 'Done.' }])] } },
        {
          manifest: `dialect: ${own}\n`,
          turns: [
            speak(own, [{ call: 'echo', type: 'agent', input, run: { id: 'a1', mode: 'sync' } }]),
            speak(own, [{ respond: 'It says: $a1' }]),
          ],
        },
      );
      expect(ran.result).toMatchObject({ status: 'completed', result: 'It says: Done.' });
      expect(ran.of('child.response')).toMatchObject([{ event: { text: 'Done.', final: true } }]);
    },
  );
});
