"""How a text reaches a lead or a member, once and with proof."""
