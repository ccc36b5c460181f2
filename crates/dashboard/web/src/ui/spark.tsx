// A minute in a line: how much each second had, and where something went wrong.

export function Spark({ values, errors, height = 56, label }: { values: number[]; errors?: number[]; height?: number; label: string }) {
  const width = values.length - 1;
  const most = Math.max(1, ...values);
  const y = (value: number) => height - 2 - (value / most) * (height - 6);
  const points = values.map((value, index) => `${index},${y(value).toFixed(1)}`).join(" ");
  return (
    <svg class="spark" viewBox={`0 0 ${width} ${height}`} height={height} preserveAspectRatio="none" role="img" aria-label={label}>
      <polygon class="area-fill" points={`0,${height} ${points} ${width},${height}`} />
      <polyline class="area-line" points={points} />
      {errors?.map((value, index) => {
        if (value === 0) return null;
        const top = Math.min(height - 5, y(value));
        return <rect key={index} class="error-bar" x={Math.max(0, index - 0.3)} y={top} width={0.6} height={height - top} />;
      })}
    </svg>
  );
}
