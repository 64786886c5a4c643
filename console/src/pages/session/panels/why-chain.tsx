import { useLoaded } from '../../../data/use-loaded.ts';
import { ErrorState } from '../../../ui/error-state.tsx';
import { Icon } from '../../../ui/icon.tsx';
import { Loading } from '../../../ui/loading.tsx';
import { whyStory } from '../model/why-story.ts';
import { WhyStep } from './why-step.tsx';

export interface WhyChainViewProps {
  /** The session or run whose event it is. */
  readonly id: string;
  readonly seq: number;
  /** Shows another event of the same log. */
  readonly select: (seq: number) => void;
}

/** From an event to its first cause, across logs. */
export function WhyChainView({ id, seq, select }: WhyChainViewProps) {
  const chain = useLoaded(`${id} ${seq}`, (client, signal) => client.why(id, seq, { signal }));
  if (chain.kind === 'loading') return <Loading label="Asking why" rows={2} className="p-0" />;
  if (chain.kind === 'failed')
    return (
      <ErrorState title="Why this happened could not be read." error={chain.error} onRetry={chain.reload} />
    );
  const { summary, links, origin } = whyStory(chain.value);
  return (
    <section aria-label="Why this happened" className="rounded-lg border border-line bg-canvas p-3">
      <h3 className="mb-1 flex items-center gap-1.5 text-small font-semibold">
        <Icon name="why" size={14} className="text-accent" />
        Why
      </h3>
      <p className="text-body break-words">{summary}</p>
      <ol className="mt-2.5 flex flex-col">
        {links.map((link, index) => (
          <WhyStep key={`${link.stream} ${link.seq}`} {...{ id, link, select }} isFirst={index === 0} />
        ))}
        <li className="flex gap-2 pl-[3px] text-small text-ink-faint">
          <Icon name="dot" size={12} className="mt-[3px]" />
          {origin}
        </li>
      </ol>
    </section>
  );
}
