import { formatCost } from '../format/format-number.ts';

export const Cost = ({ usd, className }: { readonly usd: number; readonly className?: string }) => (
  <span className={className ?? 'tabular-nums'} title={`${usd} US dollars`}>
    {formatCost(usd)}
  </span>
);
