import { useLoaded } from '../../data/use-loaded.ts';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { whyStory } from '../session/model/why-story.ts';
import { useRunView } from './run-view.ts';

/** Why the run began, in a sentence; the whole chain is behind it. */
export function RunWhy() {
  const { id, state, select } = useRunView();
  const chain = useLoaded(`why ${id}`, (client, signal) => client.why(id, 1, { signal }));
  const isOwn = state.origin.session === undefined && state.origin.parent === undefined;
  const byHand = isOwn && state.origin.trigger === undefined;
  const text = byHand
    ? 'A person or a program started it.'
    : chain.kind === 'ready'
      ? whyStory(chain.value).summary
      : chain.kind === 'failed'
        ? `The reason could not be read:  ${chain.error.message}`
        : 'Reading why it started…';
  return (
    <div className="flex flex-wrap items-start gap-x-2 gap-y-1.5 text-body">
      <Icon name="why" className="mt-0.5 text-accent" />
      <p className="line-clamp-4 min-w-0 flex-1 basis-60 break-words" title={text}>
        <span className="font-semibold">Why it ran. </span>
        {text}
      </p>
      <Button size="small" kind="quiet" className="-my-1" onClick={() => select(1)}>
        The whole chain
      </Button>
    </div>
  );
}
