import React, { useState } from "react";
import "./button.css";

type Props = { label: string; onClick?: () => void };

// Button counts how often it was pressed.
export const Button: React.FC<Props> = ({ label, onClick }) => {
  const [n, setN] = useState(0);
  return (
    <button onClick={() => { setN(n + 1); onClick?.(); }}>
      {label} <b>{n}</b>
    </button>
  );
};

export default class Panel extends React.Component<Props> {
  render() {
    return <Button label={this.props.label} />;
  }
}
