import { formatCount, formatWhole } from '../format/format-number.ts';

export interface TokensProps {
  readonly input: number;
  readonly output: number;
  /** Whether some tokens were counted here because a provider reported none. */
  readonly estimated?: boolean | undefined;
  readonly className?: string;
}

export const Tokens = ({ input, output, estimated, className }: TokensProps) => (
  <span
    className={className ?? 'tabular-nums'}
    title={`${estimated === true ? 'about ' : ''}${formatWhole(input)} tokens in, ${formatWhole(output)} out`}
  >
    {formatCount(input + output)}
    <span className="sr-only"> tokens</span>
  </span>
);
