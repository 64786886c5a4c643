import { describe, expect, it } from 'vitest';
import { agent, said } from './said.ts';

describe('the model of a feed that asks one', () => {
  const feed = (model: string, type = 'llm') =>
    said(
      agent({
        models: { fast: 'a/b' },
        context_feeds: [{ id: 'x', source: { type, name: 'summarize', params: { model } } }],
      }),
    );

  it.each(['fast', 'a/b', '$model', 'scripted:./x.yml'])('may be %s', (model) => {
    expect(feed(model)).toEqual([]);
  });

  it('is one that there is', () => {
    expect(feed('fats')).toEqual([
      'unknown_model context_feeds.0.source.params.model: There is no model "fats" in "models". | Did you mean "fast"? Or write "provider/model".',
    ]);
    expect(feed('fats', 'tool')).toEqual([]);
  });
});
