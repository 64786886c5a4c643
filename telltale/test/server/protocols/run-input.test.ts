import { describe, expect, it } from 'vitest';
import { interruptOf } from '../../../src/server/protocols/ag-ui/create-ag-ui-fold.ts';
import { readRunInput } from '../../../src/server/protocols/mount-protocols.ts';

const IDS = { threadId: 't', runId: 'r' };
const user = (content: string) => ({ id: 'm', role: 'user', content });
const read = (body: object) => readRunInput({ ...IDS, messages: [user('Hello.')], ...body } as never, 'ann');
const refused = (body: object) => {
  try {
    read(body);
  } catch (thrown) {
    return (thrown as Error).message;
  }
  return undefined;
};

describe('what a page sends to go on with', () => {
  const answers = (...resume: readonly unknown[]) => read({ resume }).said;

  it('is an answer to each question, in the name of who sent it', () => {
    expect(
      answers(
        { interruptId: 'a', status: 'resolved', payload: { approved: true } },
        { interruptId: 'b', status: 'resolved', payload: { approved: false, note: 'Not now.' } },
        { interruptId: 'c', status: 'resolved', payload: true },
        { interruptId: 'd', status: 'cancelled' },
        { interruptId: 'e', status: 'resolved', payload: { approved: true, note: 5, by: 'eve' } },
      ),
    ).toEqual({
      kind: 'answers',
      answers: [
        { review: 'a', reply: { approved: true, by: 'ann' } },
        { review: 'b', reply: { approved: false, by: 'ann', note: 'Not now.' } },
        { review: 'c', reply: { approved: true, by: 'ann' } },
        { review: 'd', reply: { approved: false, by: 'ann', note: 'Dismissed.' } },
        { review: 'e', reply: { approved: true, by: 'ann' } },
      ],
    });
  });

  it.each([
    [{ interruptId: 'a', status: 'resolved' }],
    [{ interruptId: 'a', status: 'resolved', payload: { approved: 'yes' } }],
    [{ interruptId: 'a', status: 'resolved', payload: 'true' }],
    [{ interruptId: 'a', payload: { approved: true } }],
    [{ interruptId: 'a', status: 'done', payload: true }],
  ])('that does not say yes or no is refused: %j', (entry) => {
    expect(refused({ resume: [entry] })).toContain('resume[0] does not say whether it is approved.');
  });

  it('that is no answer at all is refused with its place', () => {
    expect(refused({ resume: [{ interruptId: 'a', status: 'cancelled' }, 'yes'] })).toContain(
      'resume[1] is ',
    );
    expect(refused({ resume: [{ status: 'cancelled' }] })).toContain('interruptId');
  });

  it('that is empty is a message like others', () => {
    expect(read({ resume: [] }).said).toMatchObject({ kind: 'message', text: 'Hello.' });
  });
});

describe('what a page says', () => {
  it('has its context before it', () => {
    const context = [
      { description: 'Page', value: 'Orders' },
      { description: 'User', value: 'Ann' },
    ];
    expect(read({ context }).said).toMatchObject({ text: '[Page] Orders\n\n[User] Ann\n\nHello.' });
    for (const bad of [
      { description: 'x' },
      { value: 'x' },
      'x',
      { description: 5, value: 'x' },
      { description: 'x', value: 5 },
    ])
      expect(refused({ context: [context[0], bad] })).toContain('context[1] lacks its description or value.');
  });

  it('is read past thoughts, and refused where it has no role', () => {
    const activity = { id: 'x', role: 'activity', content: { any: 'thing' } };
    expect(read({ messages: [activity, user('Go on.')] }).said).toMatchObject({ text: 'Go on.' });
    expect(refused({ messages: [{ content: 'x' }] })).toContain('messages[0] is without a role.');
    expect(refused({ messages: ['x'] })).toContain('messages[0] is ');
  });

  it('is told that its tools are not called, and says what becomes of it when it goes away', () => {
    expect(read({ tools: [{}, {}] }).notes).toEqual([
      { name: 'tools_ignored', value: { tools: 2, message: expect.stringContaining('not called') } },
    ]);
    expect(read({ tools: [] }).notes).toEqual([]);
    expect(read({ forwardedProps: { on_close: 'continue', agent: 'coder', user: 'ann' } })).toMatchObject({
      onClose: 'continue',
      agent: 'coder',
      user: 'ann',
    });
    expect(read({}).onClose).toBe('stop');
    expect(refused({ forwardedProps: { on_close: 'never' } })).toContain('"on_close" is "never".');
  });
});

describe('a review', () => {
  it('is asked of a page with what it is about, why, and how to answer', () => {
    const review = {
      review: 'rev',
      action: 'a1',
      target: 'shell',
      what: 'rm -r x',
      because: 'permissions',
      input: { n: 1 },
    };
    expect(interruptOf(review as never, 'ses_1')).toEqual({
      id: 'rev',
      reason: 'approval',
      message: 'rm -r x (shell) permissions',
      toolCallId: 'ses_1.a1',
      responseSchema: {
        type: 'object',
        properties: { approved: { type: 'boolean' }, note: { type: 'string' } },
        required: ['approved'],
      },
      metadata: { telltale: { target: 'shell', because: 'permissions', input: { n: 1 } } },
    });
  });
});
