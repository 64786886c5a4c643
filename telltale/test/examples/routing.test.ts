import { describe, expect, it } from 'vitest';
import { expectSecrecy, lead, tasks } from './led-example.ts';

describe('examples/routing', () => {
  it('goes the way that the agent says, not the first look', async () => {
    const long = await lead('routing', 'editor', 'Thank you! Where does the bridge have its name from?');
    expect(long.run.find((event) => event.type === 'step.completed')).toMatchObject({
      step: 'look',
      output: 'short',
    });
    expect(tasks(long.run).map((step) => step.replace(/.*\//, ''))).toEqual(['sort', 'find_out', 'write']);
    const short = await lead('routing', 'obedient', 'Thank you!');
    expect(tasks(short.run).map((step) => step.replace(/.*\//, ''))).toEqual(['sort', 'reply']);
  });

  it('shows its agent the step in hand, nothing of those to come, and no name of any', async () => {
    await expectSecrecy('routing', 'editor', 'Thank you! Where does the bridge have its name from?');
  });
});
