cat > t.jinja <<'T'
{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content | trim }}
{% endfor %}{{ strftime_now("%d %B %Y") }}{% if enable_thinking %} think{% endif %}
T
echo '{"messages": [{"role": "user", "content": " Hi  "}], "bos_token": "<s>", "enable_thinking": true}' > m.json
mixtura template --template t.jinja --messages m.json --now 2026-07-04T12:30
echo '{% for %}' > broken.jinja
mixtura template --template broken.jinja --messages m.json
echo "exit $?"
mixtura template --messages m.json
echo "exit $?"
