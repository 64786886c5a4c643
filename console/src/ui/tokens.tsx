import { formatCount, formatWhole } from '../format/format-number.ts';

export interface TokensProps {
  readonly input: number;
  readonly output: number;
  readonly className?: string;
}

export const Tokens = ({ input, output, className }: TokensProps) => (
  <span
    className={className ?? 'tabular-nums'}
    title={`${formatWhole(input)} tokens in, ${formatWhole(output)} out`}
  >
    {formatCount(input + output)}
    <span className="sr-only"> tokens</span>
  </span>
);
